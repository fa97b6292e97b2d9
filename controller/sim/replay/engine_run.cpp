// Playing workers, users and the clock to one Engine.
#include "controller/sim/replay/engine_run.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <utility>

#include "base/types/job_spec.h"
#include "controller/core/engine.h"

namespace muster {
namespace {

constexpr Instant kBegin{hours(1).us};        // Engine time of the beginning of the window.
constexpr Duration kTimeMax = days(3650);     // No limit, as far as the trace goes.
constexpr Duration kTickEvery = seconds(60);  // Nothing is late here: once a second is not needed.
constexpr std::size_t kProgressEvery = 500;
constexpr std::uint32_t kUidFirst = 1000;
constexpr std::uint32_t kCpusPerGpu = 8;
constexpr std::uint64_t kMemoryMibPerGpu = 65536;
constexpr char kQueueName[] = "main";
constexpr char kNoName[] = "0";  // Tells nothing: numbers in names do not.

Requester admin() { return {Uid{0}, Gid{0}, "root", Role::kAdmin, "simulator"}; }

std::string node_name(std::uint32_t index) { return "n" + std::to_string(index + 1); }

// An attempt that runs.
struct Going {
  std::vector<NodeId> nodes;
  Instant since;
};

class World {
 public:
  World(const EngineRun& how, const std::vector<TraceJob>& jobs, const SimNodes& nodes)
      : how_(how), jobs_(jobs), nodes_(nodes), runs_(jobs.size()) {
    for (const TraceJob& job : jobs) left_.push_back(job.run);
    now_ = kBegin;
    step(BeginEpoch{Epoch{1}, "simulated", "boot", "simulated"});
    configure();
    for (std::uint32_t i = 0; i < nodes.nodes; ++i) add_node(i);
    settle();
  }

  std::vector<Run> play() {
    std::size_t next = 0;
    while (next < jobs_.size() || !ends_.empty()) {
      Instant at{std::numeric_limits<std::int64_t>::max()};
      if (next < jobs_.size()) at = engine_time(jobs_[next].submitted);
      if (!ends_.empty()) at = std::min(at, ends_.top().first);
      tick_until(at);
      now_ = at;
      while (!ends_.empty() && ends_.top().first <= now_) {
        const AttemptKey key = ends_.top().second;
        ends_.pop();
        end(key);
      }
      while (next < jobs_.size() && engine_time(jobs_[next].submitted) <= now_) submit(next);
      settle();
    }
    return std::move(runs_);
  }

 private:
  static Instant engine_time(Instant in_window) { return kBegin + (in_window - Instant{}); }
  static Instant window_time(Instant at) { return Instant{} + (at - kBegin); }

  void configure() {
    ClusterConfig config;
    config.cluster = "simulated";
    QueueConfig queue = how_.queue;
    queue.name = kQueueName;
    queue.time_default = Duration{};
    queue.time_max = kTimeMax;
    config.queues = {queue};
    config.queue_default = queue.name;
    config.accounts = {{"all", "", {}}};
    config.account_default = "all";
    // The trace has no accounts, and every owner would have the same share.
    config.priority.fair_share = config.priority.age = config.priority.size = 0;
    config.limits.jobs_per_user_max = kTraceJobsMax;
    config.limits.jobs_max = kTraceJobsMax;
    config.limits.suspect_after = kTimeMax;
    step(ApplyConfig{admin(), config});
  }

  void add_node(std::uint32_t index) {
    Inventory inventory;
    inventory.cpus = nodes_.gpus_per_node * kCpusPerGpu;
    inventory.memory_mib = nodes_.gpus_per_node * kMemoryMibPerGpu;
    inventory.address = node_name(index);
    for (std::uint32_t i = 0; i < nodes_.gpus_per_node; ++i) {
      GpuFacts gpu;
      gpu.uuid = "GPU-" + node_name(index) + "-" + std::to_string(i);
      gpu.index = i;
      gpu.minor = i;
      gpu.type = "simulated";
      gpu.memory_mib = kMemoryMibPerGpu;
      inventory.gpus.push_back(gpu);
    }
    step(EnrolNode{admin(), node_name(index), std::string(40, 'k')});
    step(WorkerHello{node_name(index), "boot", 1, inventory, {}});
  }

  // The jobs of one owner that come at the same time are one request.
  void submit(std::size_t& next) {
    const TraceJob& first = jobs_[next];
    const Uid uid{kUidFirst + first.owner};
    SubmitJobs request;
    request.who = {uid, Gid{uid.value}, "u" + std::to_string(first.owner), Role::kUser, "trace"};
    request.request.uid = uid;
    for (unsigned i = 0; i < 8; ++i)
      request.request.uuid.bytes[i] = static_cast<std::uint8_t>(next >> (8U * i));
    const std::size_t begin = next;
    while (next < jobs_.size() && next - begin < kBulkJobsMax && jobs_[next].owner == first.owner &&
           jobs_[next].submitted == first.submitted)
      request.jobs.push_back(new_job(jobs_[next++]));
    const Outcome out = step(request);
    MUSTER_ASSERT(!out.reply.error && out.reply.jobs.size() == next - begin);
    for (std::size_t i = begin; i < next; ++i) index_of_[out.reply.jobs[i - begin]] = i;
  }

  NewJob new_job(const TraceJob& job) const {
    NewJob out;
    out.spec.name = job.name.empty() ? kNoName : job.name;
    Group group;
    group.nodes_min = group.nodes_max = nodes_.nodes_of(job.gpus);
    group.gpus_per_node = nodes_.gpus_on_each(job.gpus);
    group.cpus_per_node = group.gpus_per_node * kCpusPerGpu;
    out.spec.groups = {group};
    if (how_.limits == ReplayLimits::kTrue) out.spec.time_limit = std::max(job.run, seconds(1));
    return out;
  }

  Outcome step(const Command& command) {
    Outcome out = engine_.step(command, {now_, WallTime{now_.us}});
    pass_wanted_ = pass_wanted_ || out.pass_wanted;
    if (std::holds_alternative<SchedulePass>(command)) pass_wanted_ = out.pass_wanted;
    errands_.insert(errands_.end(), out.effects.begin(), out.effects.end());
    return out;
  }

  // Until nobody has anything more to say.
  void settle() {
    while (pass_wanted_ || !errands_.empty()) {
      std::vector<Effect> errands = std::exchange(errands_, {});
      for (const Effect& errand : errands)
        std::visit([this](const auto& order) { take(order); }, errand);
      if (errands.empty()) step(SchedulePass{});
    }
    engine_.take_changes();
  }

  void report(const AttemptKey& key, NodeId node, AttemptPhase phase, CauseKind kind = {}) {
    AttemptReport said{key, phase, engine_.cluster().epoch(), {}, {}};
    if (phase == AttemptPhase::kPrepared) said.ports = {29500};
    if (phase == AttemptPhase::kEnded) {
      said.record.emplace();
      said.record->cause.kind = kind;
      said.record->launched = true;
    }
    step(WorkerReport{engine_.cluster().find_node(node)->name, {said}});
  }

  void take(const SendPrepare& order) { report(order.key, order.node, AttemptPhase::kPrepared); }
  void take(const SendGo& order) {
    report(order.key, order.node, AttemptPhase::kRunning);
    const std::size_t index = index_of_.at(order.key.job);
    Going& going = running_[order.key];
    if (going.nodes.empty()) begin(index, order.key, going);
    going.nodes.push_back(order.node);
  }
  // Nothing here cancels, and no limit is ever reached: it is stopped for another, and at once.
  void take(const SendKill& order) {
    const auto found = running_.find(order.key);
    if (found != running_.end()) {
      const std::size_t index = index_of_.at(order.key.job);
      left_[index] = left_[index] - (now_ - found->second.since) + how_.stop_cost;
      runs_[index].pauses.push_back({window_time(now_), {}});
      running_.erase(found);
    }
    report(order.key, order.node, AttemptPhase::kEnded, CauseKind::kPreempted);
  }
  void take(const SendSignal&) {}
  void take(const SendForget&) {}

  void begin(std::size_t index, const AttemptKey& key, Going& going) {
    going.since = now_;
    Run& run = runs_[index];
    if (run.pauses.empty()) run.start = window_time(now_);
    if (!run.pauses.empty()) run.pauses.back().to = window_time(now_);
    run.end = window_time(now_ + left_[index]);
    ends_.emplace(now_ + left_[index], key);
  }

  void end(const AttemptKey& key) {
    const auto found = running_.find(key);
    if (found == running_.end()) return;  // It was stopped before.
    for (const NodeId node : found->second.nodes)
      report(key, node, AttemptPhase::kEnded, CauseKind::kCompleted);
    running_.erase(found);
    index_of_.erase(key.job);
    if (++ended_ % kProgressEvery == 0 && how_.progress) how_.progress(ended_);
  }

  void tick_until(Instant at) {
    while (next_tick_ < at) {
      now_ = std::max(now_, next_tick_);
      step(FeedReached{engine_.seq_last()});
      step(Tick{});
      settle();
      next_tick_ = now_ + kTickEvery;
    }
  }

  const EngineRun& how_;
  const std::vector<TraceJob>& jobs_;
  SimNodes nodes_;
  Engine engine_;
  Instant now_;
  Instant next_tick_ = kBegin;
  bool pass_wanted_ = false;
  std::size_t ended_ = 0;
  std::vector<Effect> errands_;
  std::vector<Run> runs_;
  std::map<JobId, std::size_t> index_of_;  // Into the jobs, of those not ended.
  std::vector<Duration> left_;             // That each job has still to run.
  std::map<AttemptKey, Going> running_;    // Launched.
  std::priority_queue<std::pair<Instant, AttemptKey>, std::vector<std::pair<Instant, AttemptKey>>,
                      std::greater<>>
      ends_;
};

}  // namespace

QueueConfig learning_queue() {
  constexpr std::uint32_t kPlannedStarts = 32;
  QueueConfig queue;
  queue.order = QueueOrder::kShortest;
  queue.predict = true;
  queue.planned_starts = kPlannedStarts;
  return queue;
}

QueueConfig sharing_queue() {
  constexpr std::uint32_t kPlannedStarts = 32;
  QueueConfig queue;
  queue.order = QueueOrder::kAttained;
  queue.planned_starts = kPlannedStarts;
  return queue;
}

std::vector<Run> run_engine(const EngineRun& how, const std::vector<TraceJob>& jobs,
                            const SimNodes& nodes) {
  return World(how, jobs, nodes).play();
}

}  // namespace muster
