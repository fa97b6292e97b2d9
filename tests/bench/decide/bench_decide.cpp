// How fast the core decides, without clock, disk or network: prints one JSON object a line. Times
// are of the processor: the core waits for nothing, and other programs on the machine are not
// counted.
//   bench_decide NAME RUNS     NAME: place_1k_10k place_1k_mixed place_10k_10k pass_10k_100k
//                          array_1m_submit array_1k_ends
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/types/rng.h"
#include "controller/core/engine.h"

namespace muster {
namespace {

using Times = std::vector<double>;  // Milliseconds.

double now_ms() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double ms_since(double start) { return now_ms() - start; }

double quantile(Times times, double share) {
  std::sort(times.begin(), times.end());
  return times[std::min(times.size() - 1,
                        static_cast<std::size_t>(share * static_cast<double>(times.size())))];
}

void print(const std::string& name, const Times& times) {
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

struct Machine {
  std::uint32_t gpus = 8;
  std::string type = "h100";
};

class Site {
 public:
  explicit Site(std::uint64_t seed) : rng_(seed) {
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

double place(std::uint32_t nodes, std::vector<NewJob> jobs) {
  Site site(1);
  site.add_nodes(nodes, {});
  site.submit(std::move(jobs));
  const auto start = now_ms();
  site.pass();
  return ms_since(start);
}

std::vector<NewJob> mixed(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<NewJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t dice = rng.below(100);
    if (dice < 55)
      jobs.push_back(Site::job(1, 1));
    else if (dice < 70)
      jobs.push_back(Site::job(1, 2));
    else if (dice < 85)
      jobs.push_back(Site::job(1, 4));
    else if (dice < 95)
      jobs.push_back(Site::job(1, 8));
    else
      jobs.push_back(Site::job(static_cast<std::uint32_t>(rng.between(2, 16)), 8));
  }
  return jobs;
}

// 10,000 nodes of 8 GPUs, 5 % of the GPUs free and scattered, 100,000 jobs of 500 shapes waiting,
// 500 ends a second while a pass goes on.
Site site_10k_100k() {
  Site site(2);
  site.add_nodes(10000, {});
  std::vector<NewJob> ones(80000, Site::job(1, 1));
  for (NewJob& job : ones)
    job.spec.time_limit = minutes(static_cast<std::int64_t>(site.rng().between(30, 2000)));
  site.submit(std::move(ones));
  site.pass();
  std::vector<AttemptKey> keys;
  for (const auto& [key, attempt] : site.engine().cluster().attempts()) keys.push_back(key);
  for (const AttemptKey& key : keys) {
    if (site.rng().below(20) == 0) site.end(*site.engine().cluster().find_attempt(key));
  }
  for (std::uint32_t user = 0; user < 100; ++user) {
    std::vector<NewJob> jobs;
    for (std::uint32_t i = 0; i < 1000; ++i) {
      const std::uint64_t shape = site.rng().below(500);
      NewJob job = Site::job(static_cast<std::uint32_t>(shape % 16 + 1),
                             static_cast<std::uint32_t>(2 + shape % 7));
      job.spec.groups[0].cpus_per_node = static_cast<std::uint32_t>(shape / 16 + 1);
      job.spec.time_limit = hours(static_cast<std::int64_t>(1 + site.rng().below(40)));
      job.spec.account = "lab" + std::to_string(user % 20);
      jobs.push_back(job);
    }
    site.submit(std::move(jobs), 2000 + user);
  }
  return site;
}

void pass_10k_100k(int runs) {
  Site site = site_10k_100k();
  Times passes;
  Times steps;
  for (int run = 0; run < runs; ++run) {
    int ended = 0;
    bool wanted = true;
    double pass_ms = 0;
    while (wanted) {
      wanted = site.pass_step(steps);
      pass_ms += steps.back();
      // 500 a second of the time the pass takes; those of the last half second are left to the
      // round that follows, which is timed with it.
      while (ended < std::min(static_cast<int>(pass_ms / 2), 250) && site.running() != 0) {
        site.end(site.engine().cluster().attempts().begin()->second);
        ++ended;
      }
    }
    passes.push_back(pass_ms);
    site.wait(seconds(31));
  }
  print("pass_10k_100k", passes);
  print("pass_10k_100k_step", steps);
}

// Looking ahead over the same, once by limits.
void estimate_10k_100k(int runs) {
  Site site = site_10k_100k();
  site.pass();
  Times whole;
  Times steps;
  for (int run = 0; run < runs; ++run) {
    double took = 0;
    bool more = site.estimate_step(steps, true);
    for (took += steps.back(); more; took += steps.back()) more = site.estimate_step(steps, false);
    whole.push_back(took);
  }
  print("estimate_10k_100k", whole);
  print("estimate_10k_100k_step", steps);
}

// A million elements, from the command to the answer.
double array_1m_submit() {
  Site site(1);
  site.add_nodes(10, {});
  NewJob job = Site::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  job.spec.array.running_max = 50;
  const std::size_t before = mallinfo2().uordblks;
  const double start = now_ms();
  site.submit({job});
  const double took = ms_since(start);
  const std::size_t bytes = mallinfo2().uordblks - before;
  if (bytes > (std::size_t{1} << 20U)) {
    std::fprintf(stderr, "bench_decide: a million elements took %zu bytes\n", bytes);
    std::exit(1);
  }
  return took;
}

// Elements that end one after the other while others start, in milliseconds per thousand of them.
double array_1k_ends() {
  Site site(1);
  site.add_nodes(200, {});
  NewJob job = Site::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  site.submit({job});
  site.pass();
  constexpr int kEnds = 10000;
  double took = 0;
  for (int i = 0; i < kEnds; ++i) {
    const Attempt& first = site.engine().cluster().attempts().begin()->second;
    const double start = now_ms();
    site.end(first);
    site.pass();
    took += ms_since(start);
  }
  return took * 1000 / kEnds;
}

int run(const std::string& name, int runs) {
  if (name == "pass_10k_100k") {
    pass_10k_100k(runs);
    return 0;
  }
  if (name == "estimate_10k_100k") {
    estimate_10k_100k(runs);
    return 0;
  }
  Times times;
  for (int i = 0; i < runs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    if (name == "place_1k_10k")
      times.push_back(place(1000, std::vector<NewJob>(10000, Site::job(1, 1))));
    else if (name == "place_10k_10k")
      times.push_back(place(10000, std::vector<NewJob>(10000, Site::job(1, 1))));
    else if (name == "place_1k_mixed")
      times.push_back(place(1000, mixed(10000, seed)));
    else if (name == "array_1m_submit")
      times.push_back(array_1m_submit());
    else if (name == "array_1k_ends")
      times.push_back(array_1k_ends());
    else
      return 1;
  }
  print(name, times);
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 3 || muster::run(argv[1], std::atoi(argv[2])) != 0) {
    std::fprintf(stderr, "usage: bench_decide NAME RUNS\n");
    return 64;
  }
  return 0;
}
