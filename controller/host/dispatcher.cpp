// Orders for nodes.
#include "controller/host/dispatcher.h"

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "controller/host/clock.h"

namespace muster {

namespace {

constexpr std::int64_t kCommonFreshSeconds = 30;  // Well inside kOrderLifeSeconds.
constexpr std::size_t kCommonsMax = 4096;

ArrayFacts array_facts(const JobFacts& job) {
  ArrayFacts facts;
  const auto& ranges = job.terms->array.ranges;
  if (ranges.empty()) return facts;
  facts.is_array = true;
  facts.count = elements_total(job.terms->array);
  facts.first = ranges.front().first;
  facts.last = ranges.back().last;
  facts.step = ranges.front().step;
  return facts;
}

void copy_job(const JobFacts& job, CommonOrder& order) {
  order.uid = job.uid();
  order.gid = job.gid();
  for (const Gid gid : job.gids()) order.groups.push_back(gid.value);
  order.user = job.user();
  order.job_name = job.name;
  order.queue = job.queue();
  order.account = job.account();
  order.submit_host = job.host();
  order.array = array_facts(job);
  order.time_limit_s = job.time_limit().seconds();
}

void copy_place(const LaunchFacts& facts, CommonOrder& order) {
  for (std::size_t i = 0; i < facts.place->members.size(); ++i) {
    const Member& member = facts.place->members[i];
    order.members.push_back({facts.node_names[i], member.rank_first, member.tasks, member.group});
  }
}

// MASTER_PORT and friends are only of use to jobs whose processes we connect, or who ask.
std::uint32_t ports_for(const LaunchSpec& launch, std::uint32_t wished) {
  return launch.mode == LaunchMode::kScript && wished == 0 ? 0 : wished + 1;
}

std::string text_of(const Signature& signature) {
  return {reinterpret_cast<const char*>(signature.bytes.data()), signature.bytes.size()};
}

}  // namespace

Dispatcher::Dispatcher(DispatcherParts parts)
    : parts_(std::move(parts)), thread_([this] { run(); }) {}

Dispatcher::~Dispatcher() { stop(); }

void Dispatcher::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Dispatcher::push(std::vector<Errand> errands) {
  {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(errands));
  }
  woken_.notify_one();
}

void Dispatcher::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock, [&] { return stopping_ || !queued_.empty(); });
    if (stopping_) return;
    const std::vector<Errand> errands = std::move(queued_.front());
    queued_.pop_front();
    lock.unlock();
    carry_out(errands);
    lock.lock();
  }
}

void Dispatcher::carry_out(const std::vector<Errand>& errands) {
  std::map<std::string, ControllerMessage> messages;
  for (const Errand& errand : errands) {
    ControllerMessage& message = messages[errand.node];
    if (const auto* prepare = std::get_if<PrepareErrand>(&errand.what)) {
      add_prepare(*prepare, errand.node, message);
      // Scripts travel with them: a message of many would outgrow the session's limit.
      parts_.send(errand.node, std::move(message));
      message = {};
    } else if (const auto* go = std::get_if<GoErrand>(&errand.what)) {
      add_go(*go, message);
    } else if (const auto* kill = std::get_if<SendKill>(&errand.what)) {
      message.kills.push_back({kill->key, kill->reason, kill->grace});
    } else if (const auto* signal = std::get_if<SendSignal>(&errand.what)) {
      message.signals.push_back({signal->key, signal->signal});
    } else {
      message.forgets.push_back(std::get<SendForget>(errand.what).key);
    }
  }
  for (auto& [node, message] : messages) {
    const bool empty = message.goes.empty() && message.kills.empty() && message.signals.empty() &&
                       message.forgets.empty();
    if (!empty) parts_.send(node, std::move(message));
  }
}

std::string Dispatcher::sign(OrderKind kind, const std::string& order) const {
  return text_of(parts_.key.sign(kind, order));
}

void Dispatcher::add_prepare(const PrepareErrand& errand, const std::string& node,
                             ControllerMessage& message) {
  const LaunchFacts& facts = *errand.facts;
  const auto common = common_for(facts);
  if (!common) {
    // The prepare deadline ends the attempt and says so; there is nothing to tell the node.
    log_error("attempt {}: no order can be made: {}", to_text(facts.key), common.error().message);
    return;
  }
  const Member& member = facts.place->members[errand.member];
  NodeOrder order;
  order.key_id = parts_.key.id();
  order.attempt = facts.key;
  order.common_hash = (*common)->hash;
  order.node = node;
  order.member = errand.member;
  order.cpus = member.cpus;
  order.memory_mib = member.memory_mib;
  order.devices = errand.devices;
  for (const OrderDevice& device : errand.devices)
    order.device_filter = order.device_filter || !device.path.empty();
  const auto bytes = encode_order(order);
  if (!bytes) {
    log_error("attempt {}: no order for {} can be made: {}", to_text(facts.key), node,
              bytes.error().message);
    return;
  }
  PreparePart part;
  part.common_order = (*common)->order;
  part.common_signature = (*common)->signature;
  part.node_order = *bytes;
  part.node_signature = sign(OrderKind::kNode, *bytes);
  part.script = (*common)->script;
  part.environment = (*common)->environment;
  message.prepares.push_back(std::move(part));
}

void Dispatcher::add_go(const GoErrand& errand, ControllerMessage& message) {
  commons_.erase(errand.key);
  GoOrder order;
  order.key_id = parts_.key.id();
  order.cluster = parts_.cluster;
  order.attempt = errand.key;
  order.epoch = errand.epoch;
  order.expiry_s = wall_now().us / 1000000 + kOrderLifeSeconds;
  order.master_address = errand.master_address;
  order.ports = errand.ports;
  const auto bytes = encode_order(order);
  if (!bytes) {
    log_error("attempt {}: no go can be made: {}", to_text(errand.key), bytes.error().message);
    return;
  }
  message.goes.push_back({*bytes, sign(OrderKind::kGo, *bytes)});
}

Result<std::shared_ptr<const Dispatcher::Common>> Dispatcher::common_for(const LaunchFacts& facts) {
  const std::int64_t now_s = wall_now().us / 1000000;
  const auto kept = commons_.find(facts.key);
  if (kept != commons_.end()) {
    const std::int64_t age = now_s - kept->second->made_s;
    if (age >= 0 && age < kCommonFreshSeconds) return kept->second;
    commons_.erase(kept);
  }
  if (commons_.size() >= kCommonsMax) commons_.clear();
  auto made = make_common(facts);
  if (made && facts.place->members.size() > 1) commons_[facts.key] = *made;
  return made;
}

Result<std::shared_ptr<const Dispatcher::Common>> Dispatcher::make_common(
    const LaunchFacts& facts) {
  const JobFacts& job = *facts.job;
  auto common = std::make_shared<Common>();
  if (job.script.exists()) {
    auto script = parts_.blobs.read(job.script);
    if (!script) return script.error();
    common->script = std::move(*script);
  }
  if (job.environment.exists()) {
    auto environment = parts_.blobs.read(job.environment);
    if (!environment) return environment.error();
    common->environment = std::move(*environment);
  }
  const auto launch = decode<LaunchSpec>(job.launch);
  if (!launch) return launch.error();
  CommonOrder order;
  order.key_id = parts_.key.id();
  order.cluster = parts_.cluster;
  order.attempt = facts.key;
  order.epoch = facts.epoch;
  common->made_s = wall_now().us / 1000000;
  order.not_before_s = common->made_s;
  order.expiry_s = common->made_s + kOrderLifeSeconds;
  copy_job(job, order);
  const auto user = parts_.users.find(job.uid());
  if (user) {
    order.home = user->home;
    order.shell = user->shell;
  }
  order.script_hash = content_hash(common->script);
  order.script_size = static_cast<std::uint32_t>(common->script.size());
  order.environment_hash = content_hash(common->environment);
  order.environment_size = static_cast<std::uint32_t>(common->environment.size());
  order.launch = *launch;
  order.kill_wait_s = facts.kill_wait.seconds();
  order.ports = ports_for(*launch, job.terms->ports);
  order.append_banner = facts.key.attempt.value > 1;
  copy_place(facts, order);
  auto bytes = encode_order(order);
  if (!bytes) return bytes.error();
  common->order = std::move(*bytes);
  common->signature = sign(OrderKind::kCommon, common->order);
  common->hash = content_hash(common->order);
  return std::shared_ptr<const Common>(std::move(common));
}

}  // namespace muster
