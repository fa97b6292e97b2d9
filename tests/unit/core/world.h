// An engine with nodes and a clock to play with. Journals what it does, so that a replay can be
// compared.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/core/engine.h"

namespace muster {

class World {
 public:
  World() = default;
  World(World&&) = default;
  World& operator=(World&&) = default;
  Engine engine;
  std::vector<Record> journal;
  std::vector<Effect> effects;  // Of the last step.
  bool pass_wanted = false;
  Instant at{seconds(1000).us};

  Duration wall_step;  // What the wall clock was set forward or, negative, back by.

  Now now() const { return {at, WallTime{at.us + wall_step.us + 1700000000000000}}; }

  Outcome step(const Command& command) {
    Outcome out = engine.step(command, now());
    if (out.record) journal.push_back(*out.record);
    effects = out.effects;
    pass_wanted = out.pass_wanted;
    return out;
  }

  static Requester admin() { return {Uid{0}, Gid{0}, "root", Role::kAdmin, "login1"}; }
  static Requester user(const std::string& name = "kim", std::uint32_t uid = 1000) {
    return {Uid{uid}, Gid{uid}, name, Role::kUser, "login1"};
  }

  static ClusterConfig config() {
    ClusterConfig config;
    config.cluster = "test";
    QueueConfig queue;
    queue.name = "gpu";
    queue.time_max = hours(24);
    queue.time_default = hours(1);
    config.queues = {queue};
    config.queue_default = "gpu";
    config.accounts = {{"lab", "", {}}};
    config.account_default = "lab";
    return config;
  }

  void begin(const ClusterConfig& with = config()) {
    step(BeginEpoch{Epoch{engine.cluster().epoch().value + 1}, "c1", "boot", "0.1.0"});
    step(ApplyConfig{admin(), with});
  }

  static Inventory inventory(const std::string& node, std::uint32_t gpus, std::uint32_t cpus = 64,
                             std::uint64_t memory_mib = 512000, const std::string& type = "h100") {
    Inventory inventory;
    inventory.cpus = cpus;
    inventory.memory_mib = memory_mib;
    inventory.address = "10.0.0." + node;
    for (std::uint32_t i = 0; i < gpus; ++i) {
      GpuFacts gpu;
      gpu.uuid = "GPU-" + node + "-" + std::to_string(i);
      gpu.index = i;
      gpu.minor = i;
      gpu.type = type;
      gpu.memory_mib = 80000;
      inventory.gpus.push_back(gpu);
    }
    return inventory;
  }

  void add_node(const std::string& name, const Inventory& has) {
    step(EnrolNode{admin(), name, std::string(40, 'k')});
    hello(name, has);
  }
  Outcome hello(const std::string& name, const Inventory& has,
                std::vector<AttemptReport> attempts = {}, const std::string& boot = "boot-1") {
    return step(WorkerHello{name, boot, 1, has, std::move(attempts)});
  }

  static NewJob job(std::uint32_t nodes, std::uint32_t gpus, const std::string& name = "train") {
    NewJob job;
    job.spec.name = name;
    Group group;
    group.nodes_min = nodes;
    group.nodes_max = nodes;
    group.gpus_per_node = gpus;
    group.cpus_per_node = 1;
    group.memory_mib_per_node = 1000;
    job.spec.groups = {group};
    return job;
  }

  RequestId next_request(std::uint32_t uid = 1000) {
    RequestId id{Uid{uid}, {}};
    ++requests_;
    for (unsigned i = 0; i < 8; ++i)
      id.uuid.bytes[i] = static_cast<std::uint8_t>(requests_ >> (8U * i));
    return id;
  }

  Outcome submit(const NewJob& job, const Requester& who = user()) {
    return step(SubmitJobs{who, next_request(who.uid.value), {job}, false});
  }
  std::uint64_t requests() const { return requests_; }
  void skip_requests(std::uint64_t used) { requests_ = used; }

  JobId submitted(const NewJob& job, const Requester& who = user()) {
    const Outcome out = submit(job, who);
    MUSTER_ASSERT(out.reply.jobs.size() == 1);
    return out.reply.jobs[0];
  }

  void pass() {
    do step(SchedulePass{});
    while (pass_wanted);
  }
  void tick(Duration after) {
    at = at + after;
    step(Tick{});
  }

  Outcome report(const std::string& node, const AttemptKey& key, AttemptPhase phase,
                 std::optional<ExitRecord> record = std::nullopt) {
    AttemptReport report{key, phase, engine.cluster().epoch(), {}, std::move(record)};
    if (phase == AttemptPhase::kPrepared) report.ports = {29500};
    return step(WorkerReport{node, {report}});
  }
  static ExitRecord ended(CauseKind kind, std::int32_t status = 0, Retry retry = Retry::kNo) {
    ExitRecord record;
    record.cause.kind = kind;
    record.cause.exit_status = status;
    record.cause.retry = retry;
    record.launched = true;
    return record;
  }

  template <class T>
  std::size_t count_effects() const {
    std::size_t count = 0;
    for (const Effect& effect : effects) count += std::holds_alternative<T>(effect) ? 1U : 0U;
    return count;
  }
  ElementState state(JobId job, std::uint32_t element = 0) const {
    return *engine.cluster().find_job(job)->state_of(Element{element});
  }
  const Attempt* attempt(JobId job, std::uint32_t element = 0) const {
    return engine.cluster().find_attempt(ElementKey{job, Element{element}});
  }
  // The digest of another engine that replays the journal.
  std::uint64_t digest_of_replay() const {
    Engine other;
    for (const Record& record : journal) other.replay(record);
    return other.cluster().digest();
  }

 private:
  std::uint64_t requests_ = 0;
};

}  // namespace muster
