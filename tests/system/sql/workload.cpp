// Makes records by seed and keeps its own sums.
#include "tests/system/sql/workload.h"

namespace muster {
namespace {

constexpr std::int64_t kStart = 1790000000000000;  // 2026-09-21.

NodeReported report(std::uint32_t node) {
  NodeReported event;
  event.node = NodeId{node};
  event.boot_id = "boot-" + std::to_string(node);
  event.inventory.cpus = 64;
  event.inventory.memory_mib = 512 * 1024;
  for (std::uint32_t i = 0; i < kWorkloadGpusPerNode; ++i) {
    GpuFacts gpu;
    gpu.index = i;
    gpu.uuid = "GPU-" + std::to_string(node) + "-" + std::to_string(i);
    gpu.type = node % 2 == 0 ? "h100" : "a100";
    gpu.memory_mib = 81920;
    event.inventory.gpus.push_back(gpu);
    event.device_ids.push_back(
        DeviceId{node * static_cast<std::uint32_t>(kWorkloadGpusPerNode) + i});
  }
  return event;
}

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : rng_(seed) {}

  void set_up() {
    emit({EpochBegun{Epoch{1}, "test", "boot", "0.1.0"}, ConfigApplied{}});
    for (std::uint32_t node = 0; node < kWorkloadNodes; ++node) {
      emit({NodeEnrolled{NodeId{node}, "n" + std::to_string(node), "key", "root"}, report(node)});
    }
  }

  // One job from submission to end: one to three attempts, then over.
  void run_job() {
    const std::uint64_t job = ++out_.jobs;
    emit({submission(job, "user" + std::to_string(job % 7))});
    const auto attempts = static_cast<std::uint32_t>(rng_.between(1, 3));
    for (std::uint32_t i = 1; i <= attempts; ++i) run_attempt(job, i, i == attempts);
  }

  Workload take() { return std::move(out_); }

 private:
  void run_attempt(std::uint64_t job, std::uint32_t number, bool last) {
    const AttemptKey key{JobId{job}, Element{0}, AttemptNo{number}};
    const auto first = static_cast<std::uint32_t>(rng_.below(kWorkloadNodes - 1));
    const bool launched = rng_.chance(900);
    AttemptStarted started{key, {}};
    for (std::uint32_t i = 0; i < 2; ++i) started.place.members.push_back(member(first + i, i));
    AttemptEnded ended;
    ended.key = key;
    ended.cause.kind = !launched ? CauseKind::kLaunchFailed
                       : last    ? CauseKind::kCompleted
                                 : CauseKind::kNodeFailed;
    if (launched)
      ended.charged = milliseconds(static_cast<std::int64_t>(rng_.between(1, 100000000)));
    const auto ms = static_cast<std::uint64_t>(ended.charged.ms());
    for (const Member& part : started.place.members) {
      ended.cpu_ms += ms * part.cpus;
      for (const Grant& grant : part.grants) ended.gpu_milli_ms += ms * grant.milli;
      out_.grants += part.grants.size();
    }
    ++out_.attempts;
    out_.gpu_milli_ms += ended.gpu_milli_ms;
    out_.cpu_ms += ended.cpu_ms;
    out_.gpu_milli_ms_of_job[job] += ended.gpu_milli_ms;
    emit({started});
    if (launched) emit({AttemptLaunched{key, "10.0.0.1", {40000}}});
    for (const Member& part : started.place.members) emit({member_end(key, part.node, launched)});
    std::vector<Event> over{ended};
    if (last)
      over.push_back(ElementsEnded{JobId{job}, {{0, 0, 1}}, ended.cause});
    else
      over.push_back(ElementRequeued{JobId{job}, Element{0}, {}, seconds(5), false, "node failed"});
    emit(std::move(over));
  }

  Member member(std::uint32_t node, std::uint32_t rank) {
    Member part;
    part.node = NodeId{node};
    part.rank_first = rank;
    part.cpus = static_cast<std::uint32_t>(rng_.between(1, 8));
    part.memory_mib = 4096;
    const auto base = node * static_cast<std::uint32_t>(kWorkloadGpusPerNode);
    const auto count = static_cast<std::uint32_t>(rng_.below(kWorkloadGpusPerNode + 1));
    for (std::uint32_t i = 0; i < count; ++i) {
      part.grants.push_back(
          Grant{DeviceId{base + i}, rng_.chance(800) ? kMilliPerGpu : 250, 81920, ""});
    }
    return part;
  }

  MemberEnded member_end(const AttemptKey& key, NodeId node, bool launched) {
    MemberEnded event{key, node, {}};
    event.record.launched = launched;
    event.record.cpu_us = rng_.below(1000000);
    if (launched) event.record.started_wall = WallTime{kStart};
    return event;
  }

  void emit(std::vector<Event> events) {
    out_.records.push_back(record_of(out_.records.size() + 1, std::move(events)));
  }

  Rng rng_;
  Workload out_;
};

}  // namespace

JobSubmitted submission(std::uint64_t job, const std::string& user) {
  JobSubmitted event;
  event.job = JobId{job};
  event.uid = Uid{1000};
  event.gid = Gid{1000};
  event.user = user;
  event.spec.name = "train";
  event.spec.queue = "main";
  event.spec.account = "lab";
  event.spec.time_limit = hours(1);
  event.spec.groups.resize(1);
  event.spec.groups[0].nodes_min = 2;
  event.spec.groups[0].nodes_max = 2;
  event.spec.groups[0].gpus_per_node = 2;
  return event;
}

Record record_of(std::uint64_t seq, std::vector<Event> events, std::uint64_t epoch) {
  const auto us = static_cast<std::int64_t>(seq) * 1000;
  return Record{Seq{seq}, Epoch{epoch}, Instant{us}, WallTime{kStart + us}, std::move(events)};
}

Workload make_workload(std::uint64_t seed, std::uint64_t jobs) {
  Maker maker(seed);
  maker.set_up();
  for (std::uint64_t i = 0; i < jobs; ++i) maker.run_job();
  return maker.take();
}

}  // namespace muster
