// Recovery, wiring, order of start and stop.
#include "controller/host/controller.h"

#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <future>
#include <limits>
#include <mutex>
#include <set>

#include "base/daemon/log.h"
#include "controller/host/audit.h"
#include "controller/host/compaction.h"
#include "controller/host/dispatcher.h"
#include "controller/host/engine_loop.h"
#include "controller/host/enrolment.h"
#include "controller/host/feed_thread.h"
#include "controller/host/gateway_port.h"
#include "controller/host/intake.h"
#include "controller/host/keys.h"
#include "controller/host/log_relay.h"
#include "controller/host/queries.h"
#include "controller/host/settings.h"
#include "controller/host/watch_hub.h"
#include "controller/host/worker_port.h"
#include "controller/record/event_codec.h"
#include "controller/record/snapshot_store.h"

namespace muster {

namespace {

const Requester kHostItself{Uid{0}, Gid{0}, "the controller's host", Role::kAdmin, "local"};

constexpr auto kLookPatience = std::chrono::seconds(10);

std::string read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  return text;
}

}  // namespace

struct Controller::Impl {
  Impl(HostConfig from, std::string our_release, std::string our_dir)
      : settings(std::move(from)),
        release(std::move(our_release)),
        program_dir(std::move(our_dir)) {}

  Settings settings;
  std::string release;
  std::string program_dir;
  WallTime started = wall_now();
  Uuid cluster;
  std::string cluster_id;
  Epoch epoch;

  std::unique_ptr<Disk> disk;
  std::unique_ptr<Audit> audit;
  std::optional<ControllerKeys> keys;
  Engine engine;
  std::unique_ptr<Clock> clock;
  Users users;
  View view;

  AccessList access;
  LinkContext context{1};
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<ServerSocket> worker_socket;
  std::unique_ptr<ServerSocket> gateway_socket;
  std::unique_ptr<ServerSocket> bulk_socket;
  std::unique_ptr<ServerSocket> enrol_socket;

  std::unique_ptr<Outbox> outbox;
  std::unique_ptr<EngineLoop> loop;
  std::unique_ptr<Dispatcher> dispatcher;
  std::unique_ptr<WorkerPort> workers;
  std::unique_ptr<GatewayPort> gateways;
  std::unique_ptr<WatchHub> watches;
  std::unique_ptr<LogRelay> logs;
  std::unique_ptr<Queries> queries;
  std::unique_ptr<Enrolment> enrolment;
  std::unique_ptr<Intake> intake;
  std::unique_ptr<FeedThread> feed;
  std::unique_ptr<Compaction> compaction;

  std::mutex durable_mutex;
  std::condition_variable durable_changed;
  std::uint64_t durable_seq = 0;

  Result<void> recover();
  Result<void> begin_epoch();
  Result<Seq> step_soon(const Command& command);
  Result<void> step_now(const Command& command);
  Result<void> apply_config();
  Result<void> open_ports();
  Result<std::unique_ptr<ServerSocket>> open_port(const std::string& endpoint, LinkRole domain);
  void admit_all();
  void admit_node(const std::string& node, const std::string& key);
  void wire();
  void wire_edges();
  void on_durable(std::uint64_t seq);
  void wait_durable(Seq seq);
  void reload(const Requester& who, bool force, const ReplyTo& done);
  std::optional<std::set<std::uint32_t>> packs_in_use();
  Result<HostConfig> load_changed_config();
};

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Controller::~Controller() { stop(); }

Result<void> Controller::Impl::recover() {
  const auto config = settings.now();
  DiskOptions options;
  options.directory = config->state_dir;
  options.report = [](const std::string& line) { log_warn("{}", line); };
  auto opened = Disk::open(options);
  if (!opened) return opened.error();
  disk = std::move(*opened);
  auto snapshot = load_newest_snapshot(disk->snapshot_directory());
  if (!snapshot) return snapshot.error();
  Seq seq_after;
  WallTime last_wall;
  if (snapshot->has_value()) {
    seq_after = (*snapshot)->seq;
    last_wall = (*snapshot)->wall;
    engine.load(std::move((*snapshot)->cluster), seq_after);
  }
  const auto recovered =
      disk->recover(seq_after.value, [&](const RecordView& stored) -> Result<void> {
        auto record = decode_record(stored.payload);
        if (!record) return record.error();
        last_wall = record->wall;
        engine.replay(*record);
        return {};
      });
  if (!recovered) return recovered.error();
  if (!recovered->torn.empty()) log_warn("journal: {}", recovered->torn);
  cluster = recovered->cluster;
  cluster_id = to_text(cluster);
  clock = std::make_unique<Clock>(engine.cluster().applied_at(), last_wall);
  log_info("journal: records up to {}, {} jobs", engine.seq_last().value,
           engine.cluster().jobs().size());
  return {};
}

void Controller::Impl::on_durable(std::uint64_t seq) {
  {
    const std::lock_guard lock(durable_mutex);
    durable_seq = seq;
  }
  durable_changed.notify_all();
  if (outbox != nullptr) outbox->durable(Seq{seq});
  if (feed != nullptr) feed->durable(Seq{seq});
}

void Controller::Impl::wait_durable(Seq seq) {
  std::unique_lock lock(durable_mutex);
  durable_changed.wait(lock, [&] { return durable_seq >= seq.value; });
}

// Before the threads run: one command, on its way to the disk when this returns; its last record.
Result<Seq> Controller::Impl::step_soon(const Command& command) {
  const Outcome outcome = engine.step(command, clock->now());
  if (outcome.reply.error.has_value()) return *outcome.reply.error;
  for (const std::string& note : outcome.reply.notes) log_warn("configuration: {}", note);
  if (outcome.record.has_value())
    disk->append(outcome.record->seq.value, encode_record(*outcome.record));
  return engine.seq_last();
}

// The same, on disk when this returns.
Result<void> Controller::Impl::step_now(const Command& command) {
  const auto stepped = step_soon(command);
  if (!stepped) return stepped.error();
  wait_durable(*stepped);
  return {};
}

Result<void> Controller::Impl::begin_epoch() {
  epoch = Epoch{engine.cluster().epoch().value + 1};
  disk->start(epoch, [this](std::uint64_t seq) { on_durable(seq); });
  return step_now(BeginEpoch{epoch, cluster_id, read_boot_id(), release});
}

Result<void> Controller::Impl::apply_config() {
  const auto config = settings.now();
  const auto applied = step_now(ApplyConfig{kHostItself, config->cluster, ConfigSource::kStart, 0});
  if (!applied) return applied;
  for (const NodeKey& node : config->nodes) {
    const Node* known = engine.cluster().find_node(node.name);
    if (known != nullptr && known->public_key == node.public_key) continue;
    if (const auto enrolled = step_soon(EnrolNode{kHostItself, node.name, node.public_key});
        !enrolled)
      return enrolled.error();
  }
  wait_durable(engine.seq_last());  // Ten thousand nodes share a few syncs.
  return {};
}

void Controller::Impl::admit_node(const std::string& node, const std::string& key) {
  const std::string user_id = "node:" + node;
  for (const std::string& old : access.keys_of(user_id)) {
    if (old != key) access.remove(old);
  }
  access.add(key, {user_id, LinkRole::kWorker});
}

void Controller::Impl::admit_all() {
  for (const auto& [id, node] : engine.cluster().nodes()) {
    if (!node.public_key.empty()) admit_node(node.name, node.public_key);
  }
  for (const GatewayKey& gateway : settings.now()->gateways) {
    access.add(gateway.public_key, {"gateway:" + gateway.name, LinkRole::kGateway});
  }
}

Result<std::unique_ptr<ServerSocket>> Controller::Impl::open_port(const std::string& endpoint,
                                                                  LinkRole domain) {
  ServerOptions options;
  options.endpoint = endpoint;
  options.domain = domain;
  options.key = keys->transport;
  auto socket = ServerSocket::open(*authenticator, options);
  if (!socket) return socket;
  // The enrol port admits strangers by design and understands one message only.
  if (domain == LinkRole::kEnrol) return socket;
  const auto proof = prove_unknown_key_refused((*socket)->endpoint(), keys->transport.public_key);
  if (!proof) return proof.error();
  return socket;
}

Result<void> Controller::Impl::open_ports() {
  auto started_authenticator =
      Authenticator::start(context, access, [](const std::string& line) { log_warn("{}", line); });
  if (!started_authenticator) return started_authenticator.error();
  authenticator = std::move(*started_authenticator);
  const auto config = settings.now();
  struct Port {
    const std::string& endpoint;
    LinkRole domain;
    std::unique_ptr<ServerSocket>& socket;
  };
  for (const Port& port : {Port{config->listen.workers, LinkRole::kWorker, worker_socket},
                           Port{config->listen.gateways, LinkRole::kGateway, gateway_socket},
                           Port{config->listen.bulk, LinkRole::kBulk, bulk_socket},
                           Port{config->listen.enrol, LinkRole::kEnrol, enrol_socket}}) {
    auto opened = open_port(port.endpoint, port.domain);
    if (!opened) return opened.error();
    port.socket = std::move(*opened);
  }
  return {};
}

void Controller::Impl::wire() {
  OutboxSinks sinks;
  sinks.publish = [this](const ViewChange& change, Epoch now) {
    view.publish(change, now);
    watches->changed(change);
  };
  sinks.errands = [this](std::vector<Errand> errands) { dispatcher->push(std::move(errands)); };
  const Respond respond = [this](const Caller& caller, Response response) {
    gateways->respond(caller, response);
  };

  gateways = std::make_unique<GatewayPort>(
      std::move(gateway_socket),
      [this](GatewayInbound inbound) { intake->take(std::move(inbound)); });
  watches = std::make_unique<WatchHub>(view, respond);
  logs = std::make_unique<LogRelay>(std::move(bulk_socket), view, respond);
  outbox = std::make_unique<Outbox>(std::move(sinks));
  loop = std::make_unique<EngineLoop>(engine, *disk, *outbox, *clock);
  workers = std::make_unique<WorkerPort>(
      WorkerPortParts{std::move(worker_socket), epoch, cluster_id,
                      [this](Command command) {
                        return loop->push({std::move(command), {}});
                      },
                      [this] { return settings.now()->cluster.limits.suspect_after; }});
  dispatcher = std::make_unique<Dispatcher>(
      DispatcherParts{keys->orders, cluster, disk->blobs(), users,
                      [this](const std::string& node, ControllerMessage message) {
                        workers->send(node, std::move(message));
                      }});
  wire_edges();
  queries = std::make_unique<Queries>(
      QueriesParts{view, *loop, settings, users, *clock, release, cluster_id, started,
                   [this] {
                     const FeedStatus status = feed->status();
                     return HostStatus{status.connected, status.reached, status.error,
                                       disk->is_nearly_full(), workers->alarms()};
                   },
                   respond});
  intake = std::make_unique<Intake>(IntakeParts{
      settings, view, users, *loop, disk->blobs(), *queries, *watches, *logs, *enrolment, *audit,
      respond,
      [this](const Requester& who, bool force, const ReplyTo& done) { reload(who, force, done); },
      [this](const std::string& node, const std::string& key) { admit_node(node, key); },
      program_dir + "/muster-policy",
      " --controller " + settings.now()->listen.enrol + " --server-key '" +
          keys->transport.public_key +
          "' --key-file /etc/muster/node.key --order-keys /etc/muster/order-keys"});
}

void Controller::Impl::wire_edges() {
  const PinnedKey pinned = keys->orders.pinned();
  EnrolAnswer facts;
  facts.cluster_id = cluster_id;
  facts.order_public_key = hex(pinned.key.bytes.data(), pinned.key.bytes.size());
  facts.order_key_id = std::to_string(pinned.id);
  enrolment = std::make_unique<Enrolment>(EnrolmentParts{
      std::move(enrol_socket), facts,
      [this](const std::string& node, const std::string& key,
             const std::function<void(std::string)>& done) {
        const bool queued =
            loop->push({EnrolNode{kHostItself, node, key}, [=, this](const Reply& reply, Seq) {
                          if (!reply.error.has_value()) admit_node(node, key);
                          done(reply.error.has_value() ? reply.error->message : "");
                        }});
        if (!queued) done("the controller is busy; retry");
      }});
  feed =
      std::make_unique<FeedThread>(FeedParts{*disk, settings, cluster_id, epoch, [this](Seq seq) {
                                               loop->push({FeedReached{seq}, {}});
                                             }});
  compaction = std::make_unique<Compaction>(CompactionParts{
      *disk, program_dir + "/muster-compactor", settings.now()->state_dir,
      [this] {
        return settings.now()->database.empty() ? Seq{std::numeric_limits<std::uint64_t>::max()}
                                                : feed->status().reached;
      },
      [this] { return packs_in_use(); }});
  loop->when_sealed([this] { compaction->wanted(); });
}

std::optional<std::set<std::uint32_t>> Controller::Impl::packs_in_use() {
  using Packs = std::set<std::uint32_t>;
  auto found = std::make_shared<std::promise<Packs>>();
  auto future = found->get_future();
  const bool asked = intake->after_all_taken([this, found] {
    loop->look([found](const Engine& seen, Now) {
      Packs packs;
      for (const auto& [id, job] : seen.cluster().jobs()) {
        packs.insert(job.facts().script.pack);
        packs.insert(job.facts().environment.pack);
      }
      found->set_value(std::move(packs));
    });
  });
  if (!asked || future.wait_for(kLookPatience) != std::future_status::ready) return std::nullopt;
  return future.get();
}

Result<std::unique_ptr<Controller>> Controller::open(HostConfig config, const std::string& release,
                                                     const std::string& program_dir) {
  auto impl = std::make_unique<Impl>(std::move(config), release, program_dir);
  if (const auto recovered = impl->recover(); !recovered) return recovered.error();
  auto audit = Audit::open(impl->settings.now()->audit_file);
  if (!audit) return audit.error();
  impl->audit = std::move(*audit);
  auto keys = load_controller_keys(impl->settings.now()->state_dir, impl->cluster);
  if (!keys) return keys.error();
  impl->keys.emplace(std::move(*keys));
  if (const auto begun = impl->begin_epoch(); !begun) return begun.error();
  if (const auto applied = impl->apply_config(); !applied) return applied.error();
  impl->admit_all();
  if (const auto opened = impl->open_ports(); !opened) return opened.error();
  impl->view.publish(ViewSource().all(impl->engine), impl->epoch);
  impl->engine.take_changes();
  impl->wire();
  return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

void Controller::serve() {
  Impl& all = *impl_;
  all.outbox->durable(all.engine.seq_last());
  all.feed->durable(all.engine.seq_last());
  all.watches->start();
  all.logs->start();
  all.loop->start();
  all.workers->start();
  all.enrolment->start();
  all.gateways->start();
  all.feed->start();
  all.compaction->start();
}

void Controller::stop() {
  if (impl_ == nullptr) return;
  Impl& all = *impl_;
  // From the outside in: nobody pushes into what has stopped.
  all.intake->stop();
  all.queries->stop();
  all.gateways->stop();
  all.enrolment->stop();
  all.workers->stop();
  all.feed->stop();
  all.compaction->stop();
  all.loop->stop();
  all.disk.reset();  // Makes the last records durable; its callback still finds the outbox.
  all.outbox.reset();
  all.dispatcher->stop();
  all.watches->stop();
  all.logs->stop();
  impl_.reset();
}

Result<HostConfig> Controller::Impl::load_changed_config() {
  const auto old = settings.now();
  auto fresh = load_config(old->path);
  if (!fresh) return fresh;
  if (fresh->state_dir != old->state_dir || fresh->listen != old->listen ||
      fresh->audit_file != old->audit_file) {
    return fail(ErrorCode::kConflict,
                old->path +
                    ": state_dir, audit_file and [listen] change only with a restart of the "
                    "controller (jobs go on); nothing was applied");
  }
  if (fresh->cluster.cluster != old->cluster.cluster) {
    return fail(ErrorCode::kConflict,
                old->path + ": the cluster's name cannot change; nothing was applied");
  }
  return fresh;
}

void Controller::Impl::reload(const Requester& who, bool force, const ReplyTo& done) {
  auto fresh = load_changed_config();
  if (!fresh) {
    Reply reply;
    reply.error = fresh.error();
    return done(reply, {});
  }
  auto shared = std::make_shared<const HostConfig>(std::move(*fresh));
  const ConfigSource source = force ? ConfigSource::kFileAlone : ConfigSource::kFile;
  const bool queued = loop->push(
      {ApplyConfig{who, shared->cluster, source, 0}, [=, this](const Reply& reply, Seq seq) {
         if (!reply.error.has_value()) {
           const auto old = settings.now();
           settings.replace(*shared);
           for (const GatewayKey& gateway : old->gateways) access.remove(gateway.public_key);
           for (const GatewayKey& gateway : shared->gateways) {
             access.add(gateway.public_key, {"gateway:" + gateway.name, LinkRole::kGateway});
           }
           for (const NodeKey& node : shared->nodes) {
             loop->push({EnrolNode{kHostItself, node.name, node.public_key},
                         [=, this](const Reply& enrolled, Seq) {
                           if (!enrolled.error.has_value()) admit_node(node.name, node.public_key);
                         }});
           }
         }
         done(reply, seq);
       }});
  if (queued) return;
  Reply reply;
  reply.error = fail(ErrorCode::kLimit, "reload: the controller is busy; retry");
  done(reply, {});
}

void Controller::reload() {
  impl_->reload(kHostItself, false, [](const Reply& reply, Seq) {
    for (const std::string& note : reply.notes) log_warn("reload: {}", note);
    if (reply.error.has_value()) {
      log_error("reload: {}", reply.error->message);
    } else {
      log_info("configuration reloaded");
    }
  });
}

}  // namespace muster
