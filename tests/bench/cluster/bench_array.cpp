// array_view: nanoseconds from an element's change to the readers' view of it, for an array of
// which so many elements have ended. Prints one number for each size named on the command line.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "controller/host/view.h"
#include "tests/unit/core/world.h"

namespace {

using namespace muster;

class Array {
 public:
  explicit Array(std::uint32_t ended) {
    world_.begin();
    for (int i = 1; i <= 50; ++i)
      world_.add_node("n" + std::to_string(i), World::inventory(std::to_string(i), 8));
    NewJob job = World::job(1, 1);
    job.spec.array.ranges = {{0, 999999, 1}};
    id_ = world_.submitted(job);
    pass();
    view_.publish(source_.all(world_.engine), Epoch{1});
    for (std::uint32_t i = 0; i < ended; ++i) end_one();
    publish();
  }

  double ns_per_change(int changes) {
    double took = 0;
    for (int i = 0; i < changes; ++i) {
      end_one();
      const auto begin = std::chrono::steady_clock::now();
      publish();
      took += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin)
                  .count();
    }
    return took / changes;
  }

 private:
  void pass() {
    while (world_.engine.step(SchedulePass{}, world_.now()).pass_wanted) {
    }
  }
  void publish() { view_.publish(source_.take(world_.engine), Epoch{1}); }
  void end_one() {
    const Attempt& attempt = world_.engine.cluster().attempts().begin()->second;
    const AttemptKey key = attempt.key;
    const std::string node =
        world_.engine.cluster().find_node(attempt.place->members[0].node)->name;
    for (const AttemptPhase phase : {AttemptPhase::kPrepared, AttemptPhase::kEnded}) {
      AttemptReport report{key, phase, world_.engine.cluster().epoch(), {29500}, {}};
      if (phase == AttemptPhase::kEnded) report.record = World::ended(CauseKind::kCompleted);
      world_.engine.step(WorkerReport{node, {report}}, world_.now());
    }
    pass();
  }

  World world_;
  JobId id_;
  ViewSource source_;
  View view_;
};

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    std::printf("%.0f\n", Array(static_cast<std::uint32_t>(std::atoi(argv[i]))).ns_per_change(500));
  return 0;
}
