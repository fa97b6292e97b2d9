// Turns of the worker's main loop.
#include "worker/host/worker_daemon.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/daemon/log.h"
#include "worker/host/boot_clock.h"
#include "worker/host/machine.h"

namespace muster {
namespace {

constexpr Duration kTickEvery = milliseconds(200);
constexpr Duration kRefusedPause = seconds(15);
constexpr std::size_t kReportsPerMessage = 500;

}  // namespace

void LiveAttempts::set(AttemptKey key, bool is_live) {
  const std::lock_guard lock(mutex_);
  if (is_live) {
    live_.insert(key);
  } else {
    live_.erase(key);
  }
}

void LiveAttempts::assign(const std::vector<HeldAttempt>& attempts) {
  const std::lock_guard lock(mutex_);
  live_.clear();
  for (const HeldAttempt& attempt : attempts) {
    if (attempt.phase != HeldPhase::kEnded) live_.insert(attempt.key);
  }
}

bool LiveAttempts::has(AttemptKey key) const {
  const std::lock_guard lock(mutex_);
  return live_.count(key) != 0;
}

WorkerDaemon::WorkerDaemon(WorkerConfig config, Inventory machine, Topology topology)
    : config_(std::move(config)),
      inventory_(std::move(machine)),
      boot_id_(boot_id()),
      pinner_(std::move(topology)),
      launcher_(config_.launcher, config_.node) {}

WorkerDaemon::~WorkerDaemon() {
  gpu_watch_.reset();
  log_reader_.reset();
}

Result<std::unique_ptr<WorkerDaemon>> WorkerDaemon::start(const WorkerConfig& config,
                                                          const std::string& release) {
  Result<Inventory> machine = read_machine(config, release);
  if (!machine) return machine.error();
  Result<Topology> topology = read_topology(config.topology, config.cpus_reserved);
  if (!topology) return topology.error();
  give_whole_cores(config, topology->machine, *machine);
  std::unique_ptr<WorkerDaemon> daemon(
      new WorkerDaemon(config, *std::move(machine), *std::move(topology)));
  const Result<void> opened = daemon->open_links();
  if (!opened) return opened.error();
  return daemon;
}

Result<void> WorkerDaemon::open_links() {
  const Result<KeyPair> key = load_key(config_.key_file);
  if (!key) return key.error();
  const Result<std::string> server_key = public_key_from(config_.server_key);
  if (!server_key) return server_key.error();
  std::string plugin;
  if (config_.gpu_plugin != "none") {
    Result<std::string> found = find_plugin(config_.gpu_plugin, own_program());
    if (!found) return found.error();
    plugin = *std::move(found);
  }
  const Result<std::uint64_t> incarnation = next_incarnation(config_.state_dir);
  if (!incarnation) return incarnation.error();
  incarnation_ = *incarnation;
  ClientOptions options;
  options.endpoint = config_.controller;
  options.server_key = *server_key;
  options.key = *key;
  Result<std::unique_ptr<ControllerLink>> controller =
      ControllerLink::open(context_, options, incarnation_);
  if (!controller) return controller.error();
  controller_ = *std::move(controller);
  if (!config_.bulk.empty()) {
    options.endpoint = config_.bulk;
    Result<std::unique_ptr<ClientSocket>> bulk = ClientSocket::open(context_, options);
    if (!bulk) return bulk.error();
    const auto open = [this](const LocalLogOpen& request) {
      {
        const std::lock_guard lock(mutex_);
        log_mail_.push_back(request);
      }
      wake_.wake();
    };
    log_reader_ = std::make_unique<LogReader>(LogReader::Parts{
        *std::move(bulk), open, [this](AttemptKey key_asked) { return live_.has(key_asked); }});
  }
  gpu_watch_ = std::make_unique<GpuWatch>(gpu_options(plugin), [this](std::vector<GpuFacts> gpus) {
    {
      const std::lock_guard lock(mutex_);
      gpus_mail_ = std::move(gpus);
    }
    wake_.wake();
  });
  return {};
}

GpuWatchOptions WorkerDaemon::gpu_options(const std::string& plugin) const {
  GpuWatchOptions options;
  options.call.program = own_program();
  options.call.plugin = plugin;
  options.call.config = config_.gpu_config;
  options.call.deadline = config_.gpu_deadline;
  options.refresh = config_.gpu_refresh;
  options.state_dir = config_.state_dir;
  return options;
}

void WorkerDaemon::run(SignalSource& signals) { loop(&signals); }
void WorkerDaemon::run_until_stopped() { loop(nullptr); }

void WorkerDaemon::stop() {
  stopping_ = true;
  wake_.wake();
}

void WorkerDaemon::loop(SignalSource* signals) {
  const std::optional<Duration> watchdog = watchdog_interval();
  Instant barked_at;
  notify_ready("node " + config_.node);
  while (!stopping_) {
    const Instant now = boot_now();
    if (watchdog && now - barked_at >= *watchdog) {
      barked_at = now;
      notify_watchdog();
    }
    while (signals != nullptr) {
      const std::optional<DaemonSignal> signal = signals->next();
      if (!signal) break;
      if (*signal == DaemonSignal::kStop) stopping_ = true;
      if (*signal == DaemonSignal::kReload && !reopen_log()) log_warn("log: cannot be reopened");
    }
    turn(now);
    if (!stopping_) wait(signals == nullptr ? -1 : signals->fd(), now);
  }
  notify_stopping();
  log_info("stopping; attempts go on without this process");
}

void WorkerDaemon::turn(Instant now) {
  wake_.clear();
  take_gpus(now);
  take_launcher(now);
  take_controller(now);
  take_log_requests();
  if (now - ticked_at_ >= kTickEvery) {
    ticked_at_ = now;
    controller_->tick();
    step(ClockTicked{}, now);
  }
  flush(now);
}

// libzmq's descriptor may be silent although there is input: has_input() decides, poll() only
// sleeps.
void WorkerDaemon::wait(int signal_fd, Instant now) {
  Duration patience = kTickEvery;
  if (controller_->wants_tick()) patience = std::min(patience, milliseconds(20));
  if (const auto at = controller_->wake_at()) patience = std::min(patience, *at - now);
  if (launcher_.fd() < 0) patience = std::min(patience, launcher_.retry_at() - now);
  pollfd waits[] = {
      {controller_->fd(), POLLIN, 0},
      {wake_.fd(), POLLIN, 0},
      {signal_fd, POLLIN, 0},
      {launcher_.fd(), static_cast<short>(POLLIN | (launcher_.wants_write() ? POLLOUT : 0)), 0},
  };
  if (controller_->has_input()) return;
  const std::int64_t ms = std::clamp<std::int64_t>((patience.us + 999) / 1000, 0, kTickEvery.ms());
  ::poll(waits, std::size(waits), static_cast<int>(ms));
}

void WorkerDaemon::take_gpus(Instant now) {
  std::optional<std::vector<GpuFacts>> gpus;
  {
    const std::lock_guard lock(mutex_);
    gpus.swap(gpus_mail_);
  }
  if (!gpus) return;
  inventory_.gpus = *std::move(gpus);
  pinner_.set_gpus(inventory_.gpus);
  log_info("inventory: {} cpus, {} MiB, {} gpus", inventory_.cpus, inventory_.memory_mib,
           inventory_.gpus.size());
  has_inventory_ = true;
  if (std::exchange(met_, false)) {
    step(ControllerMet{}, now);
  } else {
    step(InventoryChanged{}, now);
  }
}

void WorkerDaemon::take_controller(Instant now) {
  const ControllerLink::News news = controller_->receive();
  if (news.met) {
    outgoing_ = WorkerMessage{};
    if (has_inventory_) {
      step(ControllerMet{}, now);
    } else {
      met_ = true;
    }
  }
  for (const ControllerMessage& message : news.messages) take_message(message, now);
  if (refused_until_ != Instant{} && now >= refused_until_) {
    refused_until_ = Instant{};
    step(ControllerMet{}, now);
  }
}

void WorkerDaemon::take_message(const ControllerMessage& message, Instant now) {
  if (!message.refused.empty()) {
    log_error("controller: refuses this worker: {}", message.refused);
    notify_status("refused: " + message.refused);
    refused_until_ = now + kRefusedPause;
    return;
  }
  if (message.welcome) {
    log_info("controller: welcome to cluster {}, epoch {}", message.welcome->cluster_id,
             message.welcome->epoch.value);
    notify_status("connected");
    step(ControllerWelcomed{message.welcome->epoch, message.welcome->heartbeat_every}, now);
  }
  for (const PreparePart& part : message.prepares) {
    Result<LauncherOrder> order = order_of(part, pinner_);
    const AttemptKey key = order ? order->key : AttemptKey{};
    take_order<PrepareAsked>(std::move(order), now);
    if (!state_.is_live(key)) pinner_.book().drop(key);
  }
  for (const GoPart& part : message.goes) take_order<GoAsked>(order_of(part), now);
  for (const KillPart& part : message.kills) take_order<KillAsked>(order_of(part), now);
  for (const SignalPart& part : message.signals) take_order<SignalAsked>(order_of(part), now);
  for (const AttemptKey& key : message.forgets) {
    Result<LauncherOrder> order = forget_order(key);
    MUSTER_ASSERT(order.ok());
    step(ForgetAsked{key}, now, std::move(order->frame));
  }
}

template <class Input>
void WorkerDaemon::take_order(Result<LauncherOrder> order, Instant now) {
  if (!order) {
    log_error("controller: order ignored: {}", order.error().message);
    return;
  }
  Input input;
  input.key = order->key;
  if constexpr (requires { input.epoch; }) input.epoch = order->epoch;
  step(input, now, std::move(order->frame));
}

void WorkerDaemon::take_launcher(Instant now) {
  LauncherLink::News news = launcher_.turn(now);
  if (news.came) step(LauncherConnected{}, now);
  for (ReceivedFrame& frame : news.frames) take_frame(frame, now);
  if (news.gone) step(LauncherGone{}, now);
}

void WorkerDaemon::take_frame(ReceivedFrame& received, Instant now) {
  const LocalFrame& frame = received.frame;
  if (frame.type == LocalType::kState) {
    const Result<LocalState> state = decode_local<LocalState>(frame);
    if (!state) return log_error("launcher: state ignored: {}", state.error().message);
    for (const std::string& warning : state->warnings)
      log_warn("attempt {}: {}", to_text(state->key), warning);
    step(LauncherSaid{held_of(*state)}, now);
    const bool is_live = state_.is_live(state->key);
    live_.set(state->key, is_live);
    if (is_live)
      pinner_.book().hold(state->key, state->cpus);
    else
      pinner_.book().drop(state->key);
  } else if (frame.type == LocalType::kListEnd) {
    step(LauncherListed{}, now);
    pinner_.book().keep_if([&](const AttemptKey& key) { return state_.is_live(key); });
  } else if (frame.type == LocalType::kLogOpened) {
    const Result<LocalLogOpened> opened = decode_local<LocalLogOpened>(frame);
    if (!opened) return log_error("launcher: answer ignored: {}", opened.error().message);
    if (log_reader_)
      log_reader_->opened({opened->number, opened->error, opened->path, std::move(received.fd)});
  } else {
    log_warn("launcher: a frame of type {} is not for a worker", static_cast<int>(frame.type));
  }
}

void WorkerDaemon::take_log_requests() {
  std::vector<LocalLogOpen> requests;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(log_mail_);
  }
  for (const LocalLogOpen& request : requests) {
    Result<std::string> frame = encode_local(request);
    MUSTER_ASSERT(frame.ok());
    if (!launcher_.send(*std::move(frame))) {
      log_reader_->opened({request.number, "the launcher of this node is away; retry", {}, Fd()});
    }
  }
}

void WorkerDaemon::step(const WorkerInput& input, Instant now, std::string frame) {
  const WorkerOutput out = state_.step(input, now);
  if (!out.remark.empty()) log_warn("{}", out.remark);
  if (out.ask_list) {
    const Result<std::string> list = encode_local(LocalList{});
    MUSTER_ASSERT(list.ok());
    launcher_.send(*list);
  }
  if (out.pass_on) launcher_.send(std::move(frame));
  if (out.say_hello) return say_hello(out);
  for (const HeldAttempt& attempt : out.attempts) outgoing_.reports.push_back(report_of(attempt));
  if (out.say_inventory) outgoing_.inventory = inventory_;
  // A heartbeat behind words that have not arrived says nothing new.
  if (out.heartbeat && controller_->is_idle()) outgoing_.heartbeat = true;
}

void WorkerDaemon::say_hello(const WorkerOutput& out) {
  outgoing_ = WorkerMessage{};
  WorkerMessage message;
  HelloPart& hello = message.hello.emplace();
  hello.node = config_.node;
  hello.boot_id = boot_id_;
  hello.incarnation = incarnation_;
  hello.inventory = inventory_;
  for (const HeldAttempt& attempt : out.attempts) hello.attempts.push_back(report_of(attempt));
  live_.assign(out.attempts);
  controller_->send(message);
}

void WorkerDaemon::flush(Instant now) {
  if (!outgoing_.reports.empty() || outgoing_.inventory || outgoing_.heartbeat) {
    WorkerMessage message = std::exchange(outgoing_, WorkerMessage{});
    std::vector<ReportPart> reports = std::move(message.reports);
    for (std::size_t at = 0; at < reports.size() || at == 0; at += kReportsPerMessage) {
      const std::size_t end = std::min(reports.size(), at + kReportsPerMessage);
      message.reports.assign(
          std::make_move_iterator(reports.begin() + static_cast<std::ptrdiff_t>(at)),
          std::make_move_iterator(reports.begin() + static_cast<std::ptrdiff_t>(end)));
      controller_->send(message);
      message.inventory.reset();
    }
  }
  controller_->flush(now);
}

}  // namespace muster
