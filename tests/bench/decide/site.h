// A cluster in the core alone, and what its steps take of the processor's time.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/types/rng.h"
#include "controller/core/engine.h"

namespace muster {

using Times = std::vector<double>;  // Milliseconds.

inline double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

inline double ms_since(double start) { return now_ms() - start; }

inline double quantile(Times times, double share) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1,
                        static_cast<std::size_t>(share * static_cast<double>(times.size())))];
}

inline void print(const std::string& name, const Times& times) {
  const auto [min, max] = std::minmax_element(times.begin(), times.end());
  std::printf(
      "{\"name\": \"%s\", \"value\": %.3f, \"unit\": \"ms\", \"n\": %zu, \"min\": %.3f, "
      "\"max\": %.3f, \"p99\": %.3f, \"build\": \"%s\"}\n",
      name.c_str(), quantile(times, 0.5), times.size(), *min, *max, quantile(times, 0.99),
#ifdef __OPTIMIZE__
      "release"
#else
      "debug"
#endif
  );
}

inline void print_bytes(const std::string& name, double value) {
  std::printf("{\"name\": \"%s\", \"value\": %.1f, \"unit\": \"bytes\", \"n\": 1}\n", name.c_str(),
              value);
}

struct Machine {
  std::uint32_t gpus = 8;
  std::string type = "h100";
};

class Site {
 public:
  // `preempting`: a second queue, spot, whose jobs those of gpu may stop.
  explicit Site(std::uint64_t seed, bool preempting = false) : rng_(seed) {
    step(BeginEpoch{Epoch{1}, "c1", "boot", "bench"});
    ClusterConfig config;
    config.cluster = "bench";
    QueueConfig queue;
    queue.name = "gpu";
    queue.time_max = hours(48);
    queue.time_default = hours(1);
    // Limits that are counted and looked at, and high enough.
    Limits high;
    high.running_jobs = high.queued_jobs = high.gpus = high.cpus = 100000000;
    high.gpu_minutes = 1000000000000;
    queue.limits = queue.user_limits = queue.account_limits = high;
    config.queues = {queue};
    if (preempting) {
      config.queues[0].priority = 10;
      config.queues[0].preempts = {"spot"};
      queue.name = "spot";
      config.queues.push_back(queue);
    }
    config.queue_default = "gpu";
    for (int i = 0; i < 20; ++i) {
      config.accounts.push_back({"lab" + std::to_string(i), "", {}});
      config.accounts.back().limits = config.accounts.back().user_limits = high;
    }
    config.account_default = "lab0";
    config.users = {{"*", high}};
    config.limits.jobs_per_user_max = 1000000;
    step(ApplyConfig{admin(), config});
  }

  void add_nodes(std::uint32_t count, const Machine& machine) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string name = "n" + std::to_string(++nodes_);
      Inventory has;
      has.cpus = 128;
      has.memory_mib = 1024000;
      has.address = "10.0.0.1";
      for (std::uint32_t g = 0; g < machine.gpus; ++g) {
        GpuFacts gpu;
        gpu.uuid = "GPU-" + name + "-" + std::to_string(g);
        gpu.index = g;
        gpu.type = machine.type;
        gpu.memory_mib = 80000;
        has.gpus.push_back(gpu);
      }
      step(EnrolNode{admin(), name, std::string(40, 'k')});
      step(WorkerHello{name, "boot-1", 1, has, {}});
    }
  }

  static NewJob job(std::uint32_t nodes, std::uint32_t gpus) {
    NewJob job;
    job.spec.name = "train";
    Group group;
    group.nodes_min = nodes;
    group.nodes_max = nodes;
    group.gpus_per_node = gpus;
    group.cpus_per_node = std::max(1U, gpus * 8);
    group.memory_mib_per_node = 1000;
    job.spec.groups = {group};
    job.spec.time_limit = hours(1);
    return job;
  }

  void submit(std::vector<NewJob> jobs, std::uint32_t uid = 1000) {
    constexpr std::size_t kBatch = 10000;
    for (std::size_t from = 0; from < jobs.size(); from += kBatch) {
      const auto first = jobs.begin() + static_cast<std::ptrdiff_t>(from);
      const auto last =
          jobs.begin() + static_cast<std::ptrdiff_t>(std::min(jobs.size(), from + kBatch));
      RequestId id{Uid{uid}, {}};
      ++requests_;
      for (unsigned i = 0; i < 8; ++i)
        id.uuid.bytes[i] = static_cast<std::uint8_t>(requests_ >> (8U * i));
      const Outcome out =
          step(SubmitJobs{{Uid{uid}, Gid{uid}, "u" + std::to_string(uid), Role::kUser, "login1"},
                          id,
                          {first, last},
                          false});
      if (out.reply.error) {
        std::fprintf(stderr, "bench_decide: submit: %s\n", out.reply.error->message.c_str());
        std::exit(1);
      }
    }
  }

  // Until nothing moves; every step's time goes into `steps`.
  void pass(Times* steps = nullptr) {
    bool wanted = true;
    while (wanted) {
      const auto start = now_ms();
      wanted = step(SchedulePass{}).pass_wanted;
      if (steps != nullptr) steps->push_back(ms_since(start));
    }
  }

  bool estimate_step(Times& steps, bool anew) {
    EstimateStarts command;
    command.anew = anew;
    const double start = now_ms();
    const bool wanted = step(command).estimate_wanted;
    steps.push_back(ms_since(start));
    return wanted;
  }

  // One pass step. Answers whether another should follow.
  bool pass_step(Times& steps) {
    const auto start = now_ms();
    const bool wanted = step(SchedulePass{}).pass_wanted;
    steps.push_back(ms_since(start));
    return wanted;
  }

  void launch(const Attempt& attempt) {
    const AttemptKey key = attempt.key;
    const std::vector<Member> members = attempt.place->members;
    for (const AttemptPhase phase : {AttemptPhase::kPrepared, AttemptPhase::kRunning}) {
      for (const Member& member : members) {
        AttemptReport report{key, phase, engine_.cluster().epoch(), {29500}, {}};
        step(WorkerReport{engine_.cluster().find_node(member.node)->name, {report}});
      }
    }
  }
  void launch_all() {
    for (const auto& [key, attempt] : engine_.cluster().attempts()) launch(attempt);
  }
  void end_all() {
    while (running() != 0) end(engine_.cluster().attempts().begin()->second);
  }

  void end(const Attempt& attempt) {
    const AttemptKey key = attempt.key;
    const std::vector<Member> members = attempt.place->members;
    for (const Member& member : members) {
      AttemptReport report{key, AttemptPhase::kPrepared, engine_.cluster().epoch(), {29500}, {}};
      step(WorkerReport{engine_.cluster().find_node(member.node)->name, {report}});
    }
    ExitRecord record;
    record.cause.kind = CauseKind::kCompleted;
    record.launched = true;
    for (const Member& member : members) {
      AttemptReport report{key, AttemptPhase::kEnded, engine_.cluster().epoch(), {}, record};
      step(WorkerReport{engine_.cluster().find_node(member.node)->name, {report}});
    }
  }

  std::size_t running() const { return engine_.cluster().attempts().size(); }
  const Engine& engine() const { return engine_; }
  Rng& rng() { return rng_; }
  void take_changes() { engine_.take_changes(); }
  void wait(Duration time) { at_ = at_ + time; }

  Outcome step(const Command& command) {
    return engine_.step(command, {at_, WallTime{at_.us + 1700000000000000}});
  }
  static Requester admin() { return {Uid{0}, Gid{0}, "root", Role::kAdmin, "login1"}; }

 private:
  Rng rng_;
  Engine engine_;
  Instant at_{seconds(1000).us};
  std::uint64_t requests_ = 0;
  std::uint32_t nodes_ = 0;
};

}  // namespace muster
