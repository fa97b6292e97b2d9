// When a job that is not submitted would start, and what it could ask for to start sooner: each
// alternative is tried by the same look ahead as the job itself, in one run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/core/command.h"
#include "controller/core/decide/forerun.h"

namespace muster {

constexpr std::size_t kAlternativesTriedMax = 24;
constexpr std::size_t kAlternativesToldMax = 4;
// Sooner by less than this, or by less than a tenth of the wait, is not worth telling.
constexpr Duration kSoonerMin = minutes(1);

struct Sooner {
  std::string options;  // Of gpusubmit: "--queue short".
  StartEstimate start;
};
struct TrialAnswer {
  bool fits_now = false;
  std::optional<StartEstimate> start;  // None is in sight.
  std::vector<Sooner> sooner;          // The soonest first.
};

class StartTrial {
 public:
  // What it asks for must be admitted; the alternatives that would not be are left out.
  StartTrial(const ForeDesk& desk, const Requester& who, const JobSpec& asked, Instant now);
  // True when the answer is there.
  bool advance(const ForeDesk& desk, std::uint64_t work);
  // After that. There is none for a job that waits for a person, other jobs or a time.
  bool has_answer() const { return run_ && run_->newcomers().size() == as_.size(); }
  TrialAnswer answer() const;
  Instant began_at() const { return began_; }

 private:
  struct Alternative {
    std::string options;
    std::uint32_t kind = 0;  // Of each kind one is told.
  };
  void add(const ForeDesk& desk, const Requester& who, JobSpec spec, const Alternative& as);
  void add_fewer(const ForeDesk& desk, const Requester& who, const JobSpec& spec);
  void add_types(const ForeDesk& desk, const Requester& who, const JobSpec& spec);
  void add_queues(const ForeDesk& desk, const Requester& who, const JobSpec& spec);
  void add_shorter(const ForeDesk& desk, const Requester& who, const JobSpec& spec);

  Instant began_;
  std::vector<Alternative> as_;  // The job itself first.
  std::vector<Newcomer> newcomers_;
  std::optional<ForeRun> run_;
};

}  // namespace muster
