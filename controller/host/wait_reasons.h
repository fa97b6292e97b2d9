// Why pending jobs of a list wait, by the terms they share and their user (limits differ): asked of
// the engine at most a few times a second however many readers there are.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/message/request.h"
#include "controller/host/engine_loop.h"
#include "controller/host/view.h"

namespace muster {

constexpr Duration kReasonKept = seconds(1);
constexpr std::size_t kReasonsPerLookMax = 16;
constexpr Duration kReasonLookEvery = milliseconds(100);

// Thread-safe.
class WaitReasons {
 public:
  explicit WaitReasons(EngineLoop& engine) : engine_(engine) {}
  // Fills the reason of pending rows that have none. What the engine cannot say soon stays empty.
  void fill(std::vector<JobRow>& rows, const ViewState& state);

 private:
  using Alike = std::pair<std::shared_ptr<const JobTerms>, Uid>;
  struct Kept {
    std::string reason;
    Instant until;
  };
  struct Asked {
    Alike alike;
    ElementKey key;  // One job stands for all of the same terms and user.
  };
  bool known(const Alike& alike, std::string& reason);
  void ask(const std::vector<Asked>& asked);

  EngineLoop& engine_;
  std::mutex mutex_;
  std::map<Alike, Kept> kept_;
  Instant looked_at_;
};

}  // namespace muster
