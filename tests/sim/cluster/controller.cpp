// Crash and restart of a controller.
#include "tests/sim/cluster/controller.h"

#include <algorithm>

#include "base/message/codec.h"
#include "controller/core/image.h"
#include "controller/record/event_codec.h"
#include "tests/sim/cluster/node.h"
#include "tests/sim/cluster/wire.h"

namespace muster::sim {
namespace {

constexpr Duration kTurnEvery = milliseconds(250);
constexpr Duration kSilence = seconds(6);
constexpr Duration kOrderLife =
    seconds(10);  // Less than in life, so that late orders are not rare.

const Requester& admin() {
  static const Requester who{Uid{0}, Gid{0}, "root", Role::kAdmin, "login1"};
  return who;
}

ClusterConfig config_of() {
  ClusterConfig config;
  config.cluster = "sim";
  QueueConfig queue;
  queue.name = "gpu";
  queue.time_max = hours(24);
  queue.time_default = hours(1);
  queue.kill_wait = seconds(5);
  config.queues = {queue};
  config.queue_default = "gpu";
  config.accounts = {{"lab", "", {}}};
  config.account_default = "lab";
  config.limits.prepare_timeout = seconds(10);
  config.limits.forget_after = seconds(20);
  return config;
}

// A record whose first started attempt has lost the grants of its first member.
Record without_grants(Record record) {
  for (Event& event : record.events) {
    auto* started = std::get_if<AttemptStarted>(&event);
    if (started != nullptr && !started->place.members.empty())
      started->place.members.front().grants.clear();
  }
  return record;
}

}  // namespace

Controller::Controller(World& world) : world_(world) {}

std::function<void()> Controller::alive(std::function<void()> what) {
  return [this, life = life_, what = std::move(what)] {
    if (life == life_) what();
  };
}

void Controller::start() {
  ++life_;
  engine_ = std::make_unique<Engine>();
  replay();
  world_.checker.restarted(*engine_);
  const Epoch epoch{engine_->cluster().epoch().value + 1};
  world_.note("controller starts, epoch " + std::to_string(epoch.value));
  began_ = Seq{engine_->seq_last().value + 1};
  step(BeginEpoch{epoch, "sim-cluster", "boot", "0.1.0"});
  configure();
  for (const auto& wire : world_.wires) wire->try_connect(world_.up_to(seconds(1)));
  world_.agenda.after(kTurnEvery, alive([this] { turn(); }));
}

// Half of the time by way of a snapshot: it must not make a difference.
void Controller::replay() {
  const std::size_t by_snapshot =
      !durable_.empty() && world_.rng.chance(500) ? world_.rng.below(durable_.size()) : 0;
  for (std::size_t i = 0; i < durable_.size(); ++i) {
    if (i == by_snapshot && i > 0) {
      ClusterImage image;
      bool is_sound = true;
      ClusterImage::take_apart(engine_->cluster(), WallTime{}, [&](const ImageItem& item) {
        is_sound = image.add(item).ok() && is_sound;
      });
      Result<Cluster> cluster = image.finish(engine_->cluster().digest());
      if (!is_sound || !cluster)
        return world_.checker.violate("snapshot: cannot be put together again");
      const Seq seq = engine_->seq_last();
      engine_ = std::make_unique<Engine>();
      engine_->load(*std::move(cluster), seq);
    }
    const Result<Record> record = decode_record(durable_[i]);
    if (!record) return world_.checker.violate("journal: " + record.error().message);
    engine_->replay(world_.planted.lost_grant ? without_grants(*record) : *record);
  }
  const auto digest = digests_.find(engine_->seq_last());
  if (digest != digests_.end() && digest->second != engine_->cluster().digest() &&
      !world_.planted.lost_grant) {
    world_.checker.violate("I1: a replay gives another state");
  }
}

void Controller::configure() {
  if (engine_->cluster().config().version == 0) step(ApplyConfig{admin(), config_of()});
  for (const auto& node : world_.nodes) {
    if (engine_->cluster().find_node(node->name()) == nullptr) {
      step(EnrolNode{admin(), node->name(), std::string(40, 'k')});
    }
  }
}

void Controller::crash(Duration until_restart) {
  if (!is_up()) return;
  world_.note("controller crashes");
  ++life_;
  engine_.reset();
  outbox_.clear();
  peers_.clear();
  syncing_ = pass_waits_ = estimate_waits_ = false;
  // Of what was being written, any beginning may have reached the disk.
  make_durable(world_.rng.below(unsynced_.size() + 1));
  unsynced_.clear();
  for (const auto& wire : world_.wires) wire->cut(milliseconds(100));
  world_.agenda.after(until_restart, alive([this] { start(); }));
}

void Controller::ask(const Command& command, Answer answer) {
  if (is_up()) step(command, std::move(answer));
}

void Controller::step(const Command& command, Answer answer) {
  const Outcome out =
      engine_->step(command, {world_.now(), WallTime{world_.now().us + 1700000000000000}});
  if (out.record) {
    unsynced_.push_back(encode_record(*out.record));
    digests_[out.record->seq] = engine_->cluster().digest();
  }
  Waiting waiting{engine_->seq_last(), std::move(answer), out.reply, {}};
  for (const Effect& effect : out.effects) waiting.errands.push_back(errand_of(effect));
  outbox_.push_back(std::move(waiting));
  if (out.pass_wanted) want_pass();
  if (out.estimate_wanted) want_estimate();
  sync();
  release();
}

void Controller::want_pass() {
  if (pass_waits_) return;
  pass_waits_ = true;
  world_.agenda.after(milliseconds(1), alive([this] {
                        pass_waits_ = false;
                        step(SchedulePass{});
                      }));
}

void Controller::want_estimate() {
  if (estimate_waits_) return;
  estimate_waits_ = true;
  world_.agenda.after(milliseconds(20), alive([this] {
                        estimate_waits_ = false;
                        step(EstimateStarts{});
                      }));
}

void Controller::sync() {
  if (syncing_ || unsynced_.empty()) return;
  syncing_ = true;
  Duration takes = world_.healed ? milliseconds(1) : world_.up_to(world_.plan.sync_max);
  if (!world_.healed && world_.now() < stalled_until_)
    takes = takes + (stalled_until_ - world_.now());
  world_.agenda.after(takes, alive([this, records = unsynced_.size()] { synced(records); }));
}

void Controller::synced(std::size_t records) {
  syncing_ = false;
  make_durable(records);
  release();
  sync();
}

void Controller::make_durable(std::size_t records) {
  for (std::size_t i = 0; i < records; ++i) {
    const Result<Record> record = decode_record(unsynced_.front());
    MUSTER_ASSERT(record.ok());
    world_.checker.durable(*record);
    world_.trace.note(world_.now(), "durable " + std::to_string(record->seq.value) + " " +
                                        std::to_string(record->events.size()));
    durable_.push_back(std::move(unsynced_.front()));
    unsynced_.pop_front();
  }
}

void Controller::release() {
  std::vector<Waiting> ready;
  while (!outbox_.empty() && (outbox_.front().after.value <= durable_.size() ||
                              world_.planted.acknowledge_before_sync)) {
    ready.push_back(std::move(outbox_.front()));
    outbox_.pop_front();
  }
  for (const Waiting& one : ready) {
    if (one.answer) one.answer(one.reply, one.after);
    for (const Errand& errand : one.errands) send(errand.node, errand.message);
  }
}

Controller::Errand Controller::errand_of(const Effect& effect) const {
  const Cluster& cluster = engine_->cluster();
  const Epoch epoch = cluster.epoch();
  Errand errand{};
  const auto to = [&](NodeId id) {
    for (std::size_t i = 0; i < world_.nodes.size(); ++i) {
      if (world_.nodes[i]->name() == cluster.find_node(id)->name) errand.node = i;
    }
  };
  if (const auto* prepare = std::get_if<SendPrepare>(&effect)) {
    to(prepare->node);
    const Attempt* attempt = cluster.find_attempt(prepare->key);
    if (attempt == nullptr) return errand;
    SimOrder order{prepare->key, epoch, world_.now() + kOrderLife, {}};
    for (const Grant& grant : attempt->find_member(prepare->node)->grants) {
      order.devices.push_back(cluster.find_device(grant.device)->uuid);
    }
    errand.message.prepares.push_back({order.text(), {}, {}, {}, {}, {}});
  } else if (const auto* go = std::get_if<SendGo>(&effect)) {
    to(go->node);
    errand.message.goes.push_back(
        {SimOrder{go->key, epoch, world_.now() + kOrderLife, {}}.text(), {}});
  } else if (const auto* kill = std::get_if<SendKill>(&effect)) {
    to(kill->node);
    errand.message.kills.push_back({kill->key, kill->reason, kill->grace});
  } else if (const auto* signal = std::get_if<SendSignal>(&effect)) {
    to(signal->node);
    errand.message.signals.push_back({signal->key, signal->signal});
  } else if (const auto* forget = std::get_if<SendForget>(&effect)) {
    to(forget->node);
    errand.message.forgets.push_back(forget->key);
  }
  return errand;
}

void Controller::receive(std::size_t node, const std::string& packet) {
  if (!is_up() || durable_.size() < began_.value) return;
  const auto [found, is_new] = peers_.try_emplace(node, engine_->cluster().epoch().value);
  Peer& peer = found->second;
  const Result<Received> received = peer.session.receive(packet);
  if (!received) {
    if (received.error().code != ErrorCode::kConflict)
      world_.checker.violate(received.error().message);
    return;
  }
  if (received->fresh) peer.welcomed = false;
  peer.heard_at = world_.now();
  for (const std::string& payload : received->payloads) {
    const Result<WorkerMessage> message = decode<WorkerMessage>(payload);
    if (!message) return world_.checker.violate(message.error().message);
    take_message(node, peer, *message);
  }
  flush(node);
}

void Controller::take_message(std::size_t node, Peer& peer, const WorkerMessage& message) {
  const std::string& name = world_.nodes[node]->name();
  const auto reports_of = [](const std::vector<ReportPart>& parts) {
    std::vector<AttemptReport> reports;
    for (const ReportPart& part : parts) {
      reports.push_back(
          {part.key, static_cast<AttemptPhase>(part.phase), part.epoch, part.ports, part.record});
    }
    return reports;
  };
  if (message.hello) {
    peer.welcomed = true;
    peer.lost = false;
    ControllerMessage welcome;
    welcome.welcome =
        WelcomePart{kWorkerProtocol, "sim-cluster", engine_->cluster().epoch(), seconds(2)};
    send(node, welcome);
    step(WorkerHello{name, message.hello->boot_id, message.hello->incarnation,
                     message.hello->inventory, reports_of(message.hello->attempts)});
  }
  if (!peer.welcomed) return;
  if (!message.reports.empty()) {
    step(WorkerReport{name, reports_of(message.reports)});
  } else if (message.heartbeat) {
    step(WorkerHeard{name});
  }
}

void Controller::send(std::size_t node, const ControllerMessage& message) {
  const auto peer = peers_.find(node);
  if (peer == peers_.end() || !peer->second.welcomed) return;
  if (!peer->second.session.send(encode(message))) world_.note("a message to a worker was dropped");
  flush(node);
}

void Controller::flush(std::size_t node) {
  const auto peer = peers_.find(node);
  if (peer == peers_.end()) return;
  for (std::string& packet : peer->second.session.take_outgoing(world_.now())) {
    world_.wires[node]->send_down(std::move(packet));
  }
}

void Controller::turn() {
  step(Tick{});
  step(FeedReached{Seq{durable_.size()}});
  for (auto& [node, peer] : peers_) {
    const bool is_silent = world_.now() - peer.heard_at > kSilence;
    if (peer.welcomed && !peer.lost && is_silent) {
      peer.lost = true;
      step(WorkerLost{world_.nodes[node]->name()});
    } else if (peer.lost && !is_silent) {
      peer.lost = false;
    }
    flush(node);
  }
  world_.agenda.after(kTurnEvery, alive([this] { turn(); }));
}

}  // namespace muster::sim
