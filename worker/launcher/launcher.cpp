// The launcher's turn, and what workers ask for.
#include "worker/launcher/launcher.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "base/order/small_file.h"
#include "base/order/wire.h"

namespace muster {
namespace {

constexpr std::size_t kWorkersMax = 8;
constexpr std::size_t kAttemptsMax = 100000;
constexpr std::size_t kLogAsksMax = 1024;
constexpr int kLookAgainMs = 50;

}  // namespace

Launcher::Launcher(const LauncherSettings& settings, PinnedKeys keys, Store store)
    : settings_(settings),
      gate_(settings_, std::move(keys)),
      store_(std::move(store)),
      spawner_(settings.shepherd_path),
      ports_(settings.port_first, settings.port_last) {
  // Several launchers may share a machine, and each must find only its own groups again.
  const Hash256 hash =
      content_hash(to_text(gate_.cluster()) + "\n" + settings.node + "\n" + store_.scripts_path());
  cgroup_group_ = "/muster/" + settings.node + "-" + hex(hash.bytes.data(), 4);
}

Result<std::unique_ptr<Launcher>> Launcher::open(const LauncherSettings& settings) {
  const bool is_root = ::geteuid() == 0;
  if (!settings.single_user && !is_root) {
    return fail(ErrorCode::kInvalid, "must run as root, or with --single-user");
  }
  if (settings.single_user && is_root && !settings.allow_root_jobs) {
    return fail(ErrorCode::kInvalid, "--single-user as root needs --allow-root-jobs");
  }
  Result<PinnedKeys> keys = read_pinned_keys(settings.keys_path);
  if (!keys.ok()) return keys.error();
  Result<Store> store = Store::open(settings.state_dir, settings.run_dir);
  if (!store.ok()) return store.error();
  std::unique_ptr<Launcher> launcher(new Launcher(settings, std::move(*keys), std::move(*store)));
  Result<std::string> settled = settle(settings);
  if (!settled.ok()) return settled.error();
  launcher->cgroup_group_.insert(0, *settled);
  launcher->recover();
  Result<Fd> listening = listen_local(settings.socket_path, 0600);
  if (!listening.ok()) return listening.error();
  launcher->listen_ = std::move(*listening);
  if (settings.worker_uid != ::geteuid() &&
      ::chown(settings.socket_path.c_str(), settings.worker_uid, static_cast<gid_t>(-1)) != 0) {
    return failed(settings.socket_path);
  }
  return launcher;
}

std::vector<pollfd> Launcher::polls() {
  std::vector<pollfd> polls{{listen_.number(), POLLIN, 0}};
  const auto add = [&](const std::unique_ptr<LocalChannel>& channel) {
    const int events = channel && channel->wants_write() ? POLLIN | POLLOUT : POLLIN;
    polls.push_back({channel ? channel->fd() : -1, static_cast<short>(events), 0});
  };
  for (const Worker& worker : workers_) add(worker.channel);
  for (const auto& entry : attempts_) {
    if (entry.second.channel) add(entry.second.channel);
  }
  return polls;
}

Result<void> Launcher::turn(int timeout_ms) {
  const bool is_looking = std::any_of(attempts_.begin(), attempts_.end(), [](const auto& entry) {
    return entry.second.adopt_until_ms != 0;
  });
  std::vector<pollfd> waiting = polls();
  if (is_looking) timeout_ms = std::min(timeout_ms, kLookAgainMs);
  if (::poll(waiting.data(), waiting.size(), timeout_ms) < 0 && errno != EINTR) {
    return failed("poll");
  }
  std::map<int, short> events;
  for (const pollfd& one : waiting) {
    if (one.revents != 0) events[one.fd] = one.revents;
  }
  const auto has = [&](const std::unique_ptr<LocalChannel>& channel) {
    const auto found = channel ? events.find(channel->fd()) : events.end();
    if (found == events.end()) return false;
    if ((found->second & POLLOUT) != 0) (void)channel->flush().ok();
    return (found->second & ~POLLOUT) != 0;
  };
  std::vector<AttemptKey> ready;
  for (const auto& entry : attempts_) {
    if (has(entry.second.channel)) ready.push_back(entry.first);
  }
  for (const AttemptKey& key : ready) read_shepherd(key, attempts_[key]);
  for (Worker& worker : workers_) {
    if (has(worker.channel)) read_worker(worker);
  }
  std::erase_if(workers_, [](const Worker& worker) { return worker.channel == nullptr; });
  if (events.count(listen_.number()) != 0) accept_worker();
  if (is_looking) look_again(wall_seconds() * 1000);
  if (was_rebooted_) settle_reboot();
  const Result<void> started = start_orders();
  forget_ended();
  answer_lists();
  return started;
}

void Launcher::accept_worker() {
  Fd socket(::accept4(listen_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket.is_open()) return;
  const Result<LocalPeer> peer = peer_of(socket.number());
  if (!peer.ok() || peer->uid != settings_.worker_uid) {
    std::fprintf(stderr, "muster-launcher: turned away a connection of another user\n");
    return;
  }
  if (workers_.size() >= kWorkersMax) workers_.erase(workers_.begin());
  workers_.push_back({std::make_unique<LocalChannel>(std::move(socket)), next_id_++, false, false});
}

void Launcher::read_worker(Worker& worker) {
  Result<std::vector<ReceivedFrame>> frames = worker.channel->receive();
  if (!frames.ok()) {
    if (frames.error().code == ErrorCode::kCorrupt) {
      std::fprintf(stderr, "muster-launcher: worker: %s\n", frames.error().message.c_str());
    }
    worker.channel.reset();
    return;
  }
  for (const ReceivedFrame& received : *frames) {
    const Result<void> obeyed = obey(worker, received.frame);
    if (!worker.channel) return;
    if (!obeyed.ok()) {
      std::fprintf(stderr, "muster-launcher: worker: %s\n", obeyed.error().message.c_str());
      worker.channel.reset();
      return;
    }
  }
}

Result<void> Launcher::obey(Worker& worker, const LocalFrame& frame) {
  if (!worker.greeted && frame.type != LocalType::kHello) {
    return fail(ErrorCode::kCorrupt, "no hello");
  }
  const auto with = [](auto message, auto act) -> Result<void> {
    if (!message.ok()) return message.error();
    act(*message);
    return {};
  };
  switch (frame.type) {
    case LocalType::kHello: {
      const Result<LocalHello> hello = decode_local<LocalHello>(frame);
      if (!hello.ok()) return hello.error();
      const Result<std::uint16_t> version = agree_on_version(*hello);
      if (!version.ok()) return version.error();
      worker.greeted = true;
      LocalHello answer;
      answer.node = settings_.node;
      return worker.channel->send(*encode_local(answer));
    }
    case LocalType::kPrepare:
      return with(decode_local<LocalPrepare>(frame),
                  [&](LocalPrepare& m) { prepare(worker, std::move(m)); });
    case LocalType::kGo:
      return with(decode_local<LocalGo>(frame), [&](LocalGo& m) { go(worker, frame, m); });
    case LocalType::kKill:
      return with(decode_local<LocalKill>(frame), [&](LocalKill& m) { kill(frame, m); });
    case LocalType::kSignal:
      return with(decode_local<LocalSignal>(frame), [&](LocalSignal& m) { pass_on(m.key, frame); });
    case LocalType::kForget:
      return with(decode_local<LocalForget>(frame),
                  [&](LocalForget& m) { forgets_.insert(m.key); });
    case LocalType::kList:
      return with(decode_local<LocalList>(frame), [&](LocalList&) { worker.wants_list = true; });
    case LocalType::kLogOpen:
      return with(decode_local<LocalLogOpen>(frame), [&](LocalLogOpen& m) { open_log(worker, m); });
    default:
      return fail(ErrorCode::kCorrupt, "a frame that only we may send");
  }
}

void Launcher::prepare(Worker& worker, LocalPrepare message) {
  const AttemptKey key = message.key;
  const auto known = attempts_.find(key);
  if (known != attempts_.end()) {
    if (!known->second.is_guess) send(worker, known->second.state);
    return;
  }
  Result<Order> order = admit(std::move(message));
  if (!order.ok()) {
    refuse(worker, key, order.error().message);
    return;
  }
  Attempt& attempt = attempts_[key];
  attempt.state.key = key;
  attempt.state.epoch = order->admitted.common.epoch;
  attempt.expiry_s = order->admitted.common.expiry_s + kClockSkewSeconds;
  for (const HeldPort& held : order->ports) attempt.state.ports.push_back(held.port);
  attempt.state.cpus = cpus_of(order->prepare.pins);
  orders_.push_back(std::move(*order));
}

Result<Launcher::Order> Launcher::admit(LocalPrepare message) {
  if (store_.is_forgotten(message.key)) {
    return fail(ErrorCode::kConflict, "order refused: that attempt is over");
  }
  if (attempts_.size() >= kAttemptsMax)
    return fail(ErrorCode::kLimit, "too many attempts on this node");
  Result<Admitted> admitted = gate_.admit(message, store_.epoch(), wall_seconds());
  if (!admitted.ok()) return admitted.error();
  if (store_.epoch() < admitted->common.epoch) {
    const Result<void> raised = store_.raise_epoch(admitted->common.epoch);
    if (!raised.ok()) return raised.error();
  }
  std::vector<HeldPort> held;
  if (admitted->node.member == 0 && admitted->common.ports > 0) {
    Result<std::vector<HeldPort>> taken = ports_.take(admitted->common.ports);
    if (!taken.ok()) return taken.error();
    held = std::move(*taken);
  }
  Result<Fd> directory = store_.create(message.key);
  if (!directory.ok()) {
    for (const HeldPort& one : held) ports_.give_back({one.port});
    return directory.error();
  }
  return Order{std::move(message), std::move(*admitted), std::move(*directory), std::move(held)};
}

// The record of every order of this turn is made durable by one sync; only then does anything of
// them run.
Result<void> Launcher::start_orders() {
  if (orders_.empty()) return {};
  const Result<void> synced = store_.sync();
  if (!synced.ok()) return synced;
  for (Order& order : orders_) start(order);
  orders_.clear();
  return {};
}

void Launcher::start(Order& order) {
  Attempt& attempt = attempts_[order.prepare.key];
  attempt.directory = std::move(order.directory);
  attempt.token = random_bytes(32);
  ShepherdSpec spec = spec_for(order.prepare.key, ShepherdMode::kRun);
  spec.token = attempt.token;
  spec.common = std::move(order.prepare.common);
  spec.node_order = std::move(order.prepare.node);
  spec.script = std::move(order.prepare.script);
  spec.environment = std::move(order.prepare.environment);
  spec.ports = attempt.state.ports;
  spec.pins = std::move(order.prepare.pins);
  Result<Fd> socket = spawner_.spawn(spec, directories_of(attempt), order.ports);
  if (!socket.ok()) {
    attempt.blame(CauseKind::kLaunchFailed, Retry::kElsewhere, socket.error().message);
    reap(spec.key, attempt);
    return;
  }
  attempt.channel = std::make_unique<LocalChannel>(std::move(*socket));
  attempt.link = Link::kShepherd;
  for (std::string& frame : attempt.waiting) (void)attempt.channel->send(std::move(frame)).ok();
  attempt.waiting.clear();
  push(attempt.state);
}

void Launcher::go(Worker& worker, const LocalFrame& frame, const LocalGo& message) {
  const auto found = attempts_.find(message.key);
  if (found == attempts_.end()) {
    refuse(worker, message.key, "go for an attempt this node does not hold");
    return;
  }
  const Result<GoOrder> order = gate_.admit(message, store_.epoch(), wall_seconds());
  if (!order.ok()) {
    LocalState state = found->second.state;
    state.warnings.push_back(order.error().message);
    say(message.key, order.error().message);
    send(worker, state);
    if (order.error().code == ErrorCode::kUnavailable) {
      end_unstarted(found->second, order.error().message);
    }
    return;
  }
  if (store_.epoch() < order->epoch && !store_.raise_epoch(order->epoch).ok()) return;
  pass_on(message.key, frame);
}

// No other go will come: without an end it would hold its devices for ever.
void Launcher::end_unstarted(Attempt& attempt, const std::string& why) {
  if (attempt.state.phase > LocalPhase::kPrepared) return;
  LocalKill late;
  late.key = attempt.state.key;
  late.kind = CauseKind::kLaunchFailed;
  late.by = why;
  late.grace_ms = 0;
  const Result<std::string> frame = encode_local(late);
  if (!frame.ok()) return;
  if (attempt.link == Link::kShepherd) {
    (void)attempt.channel->send(*frame).ok();
  } else if (attempt.link == Link::kNone) {
    attempt.waiting.push_back(*frame);
  }
}

// A kill of what we do not know must outlast us: the order may still be on its way.
void Launcher::kill(const LocalFrame& frame, const LocalKill& message) {
  const auto found = attempts_.find(message.key);
  if (found != attempts_.end()) {
    if (found->second.state.phase == LocalPhase::kEnded) push(found->second.state);
    pass_on(message.key, frame);
    return;
  }
  Result<Fd> directory = store_.create(message.key);
  if (!directory.ok() || !store_.sync().ok()) {
    say(message.key, "no tombstone: the disk refuses");
    return;
  }
  Attempt& attempt = attempts_[message.key];
  attempt.state.key = message.key;
  attempt.directory = std::move(*directory);
  attempt.expiry_s = wall_seconds() + kOrderLifeSeconds + kClockSkewSeconds;
  attempt.end.kind = message.kind;
  attempt.end.by = message.by;
  attempt.end.evidence = "it never started on this node";
  reap(message.key, attempt);
}

void Launcher::pass_on(const AttemptKey& key, const LocalFrame& frame) {
  const auto found = attempts_.find(key);
  if (found == attempts_.end() || found->second.state.phase == LocalPhase::kEnded) return;
  wire::Writer writer;
  writer.number(static_cast<std::uint32_t>(frame.body.size() + 1));
  writer.number(static_cast<std::uint8_t>(frame.type));
  std::string bytes = writer.take() + frame.body;
  Attempt& attempt = found->second;
  if (attempt.link == Link::kShepherd) {
    (void)attempt.channel->send(std::move(bytes)).ok();
  } else if (attempt.link == Link::kNone) {
    attempt.waiting.push_back(std::move(bytes));
  }
}

// All of a turn by one sync. A disk that refuses leaves them; the controller asks again.
void Launcher::forget_ended() {
  std::map<AttemptKey, std::int64_t> ended;  // To the expiry of its order.
  for (const AttemptKey& key : std::exchange(forgets_, {})) {
    const auto found = attempts_.find(key);
    if (found == attempts_.end() || found->second.state.phase != LocalPhase::kEnded) continue;
    ended[key] = found->second.expiry_s;
  }
  const Result<void> forgotten = store_.forget(ended, wall_seconds());
  for (const auto& entry : ended) {
    if (forgotten.ok()) {
      attempts_.erase(entry.first);
    } else {
      say(entry.first, forgotten.error().message);
    }
  }
}

// Nothing is said of an attempt before its shepherd was found or given up: "running" could be
// untrue.
void Launcher::answer_lists() {
  for (const auto& entry : attempts_) {
    if (entry.second.is_guess) return;
  }
  for (Worker& worker : workers_) {
    if (!worker.channel || !std::exchange(worker.wants_list, false)) continue;
    for (const auto& entry : attempts_) {
      if (worker.channel) send(worker, entry.second.state);
    }
    if (worker.channel) (void)worker.channel->send(*encode_local(LocalListEnd{})).ok();
  }
}

// Its shepherd answers while it lives. Afterwards there is what no file of the user's has.
void Launcher::open_log(Worker& worker, const LocalLogOpen& message) {
  const std::uint64_t number = next_id_++;
  log_asks_[number] = {worker.id, message.number, message.key};
  const auto found = attempts_.find(message.key);
  LocalLogOpened answer;
  if (log_asks_.size() > kLogAsksMax) {
    answer.error = "too many readers at once, retry";
    answer_log(number, std::move(answer), Fd());
  } else if (found != attempts_.end() && found->second.link == Link::kShepherd &&
             found->second.state.phase != LocalPhase::kEnded) {
    LocalLogOpen ask = message;
    ask.number = number;
    (void)found->second.channel->send(*encode_local(ask)).ok();
  } else {
    Fd kept = store_.open_kept(message.key, message.rank, message.errors);
    if (!kept.is_open()) answer.error = "this node keeps no output of that attempt or rank";
    answer_log(number, std::move(answer), std::move(kept));
  }
}

void Launcher::answer_log(std::uint64_t number, LocalLogOpened answer, Fd file) {
  const auto found = log_asks_.find(number);
  if (found == log_asks_.end()) return;
  answer.number = found->second.number;
  for (Worker& worker : workers_) {
    if (worker.id != found->second.worker || !worker.channel) continue;
    if (!worker.channel->send(*encode_local(answer), std::move(file)).ok()) worker.channel.reset();
    break;
  }
  log_asks_.erase(found);
}

void Launcher::reload() {
  Result<PinnedKeys> keys = read_pinned_keys(settings_.keys_path);
  if (keys.ok() && keys->cluster == gate_.cluster()) {
    gate_.replace_keys(std::move(*keys));
  } else {
    const char* why = keys.ok() ? "the keys are of another cluster" : keys.error().message.c_str();
    std::fprintf(stderr, "muster-launcher: %s; the old keys stay\n", why);
  }
  spawner_ = Spawner(settings_.shepherd_path);
}

void Launcher::leave() {
  // A process that is just becoming the server may hold a copy of it for a moment.
  ::shutdown(listen_.number(), SHUT_RDWR);
  if (!attempts_.empty()) return;
  const int directory = store_.run_directory();
  (void)spawner_.spawn(spec_for({}, ShepherdMode::kSweep), {directory, directory, directory}, {})
      .ok();
}

void Launcher::push(const LocalState& state) {
  for (Worker& worker : workers_) {
    if (worker.greeted && worker.channel) send(worker, state);
  }
}

void Launcher::send(Worker& worker, const LocalState& state) {
  const Result<std::string> frame = encode_local(state);
  if (frame.ok() && !worker.channel->send(*frame).ok()) worker.channel.reset();
}

// Refused before anything was recorded: the same order may come again and be refused again.
void Launcher::refuse(Worker& worker, const AttemptKey& key, const std::string& why) {
  say(key, why);
  LocalState state;
  state.key = key;
  state.phase = LocalPhase::kEnded;
  state.epoch = store_.epoch();
  state.record.cause.kind = CauseKind::kLaunchFailed;
  state.record.cause.evidence = why;
  state.record.cause.node = settings_.node;
  state.record.cause.retry = Retry::kElsewhere;
  send(worker, state);
}

void Launcher::say(const AttemptKey& key, const std::string& text) const {
  std::fprintf(stderr, "muster-launcher: %s: %s\n", to_text(key).c_str(), text.c_str());
}

std::vector<int> Launcher::directories_of(const Attempt& attempt) const {
  return {attempt.directory.number(), store_.scripts_directory(), store_.run_directory()};
}

ShepherdSpec Launcher::spec_for(const AttemptKey& key, ShepherdMode mode) const {
  ShepherdSpec spec;
  spec.mode = mode;
  spec.key = key;
  spec.node = settings_.node;
  spec.cgroup_group = cgroup_group_;
  spec.scripts_path = store_.scripts_path();
  spec.single_user = settings_.single_user;
  spec.nccl_interface = settings_.nccl_interface;
  spec.gloo_interface = settings_.gloo_interface;
  return spec;
}

}  // namespace muster
