// People: they submit, cancel, hold and release, over connections that lose requests and answers;
// they retry with the same request id until they are answered.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "controller/core/command.h"
#include "tests/sim/cluster/world.h"

namespace muster::sim {

class Clients {
 public:
  explicit Clients(World& world) : world_(world) {}
  void begin();       // Jobs and other wishes spread over the time of trouble.
  void clear_away();  // Ends what is held, for ever.
  // A job over all nodes with all their GPUs.
  void submit_widest(std::function<void(JobId)> acknowledged);
  std::size_t waiting() const { return waiting_; }  // Questions without an answer.

 private:
  struct Asked {
    Command command;
    std::function<void(const Reply&, Seq)> done;
    std::uint32_t tries = 0;
    bool over = false;
  };
  void ask(Command command, std::function<void(const Reply&, Seq)> done);
  void attempt(std::shared_ptr<Asked> asked);
  void submit();
  void wish();
  RequestId next_request();

  World& world_;
  std::uint64_t requests_ = 0;
  std::size_t waiting_ = 0;
  std::vector<JobId> known_;
};

}  // namespace muster::sim
