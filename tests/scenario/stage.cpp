// Playing the statements that make things happen.
#include "tests/scenario/stage.h"

#include <algorithm>

#include "base/types/size.h"

namespace muster::scenario {
namespace {

constexpr std::uint32_t kFirstUid = 1000;

std::uint32_t number(const std::string& text, std::uint32_t otherwise) {
  if (text.empty()) return otherwise;
  const Result<std::uint64_t> count = parse_count(text, 0, UINT32_MAX);
  MUSTER_ASSERT(count.ok());
  return static_cast<std::uint32_t>(*count);
}

std::int32_t signed_number(const std::string& text) {
  const bool negative = text[0] == '-';
  const auto size = static_cast<std::int32_t>(number(negative ? text.substr(1) : text, 0));
  return negative ? -size : size;
}

Duration duration(const std::string& text, Duration otherwise) {
  if (text.empty()) return otherwise;
  const Result<Duration> parsed = parse_duration(text);
  MUSTER_ASSERT(parsed.ok());
  return *parsed;
}

std::uint64_t memory(const std::string& text, std::uint64_t otherwise) {
  if (text.empty()) return otherwise;
  const Result<std::uint64_t> parsed = parse_memory_mib(text);
  MUSTER_ASSERT(parsed.ok());
  return *parsed;
}

// "gpus:8+running_jobs:2+time_max:1h"
Limits limits_of(const std::string& text) {
  Limits limits;
  for (const std::string& part : split(text, '+')) {
    const std::vector<std::string> sides = split(part, ':');
    MUSTER_ASSERT(sides.size() == 2);
    const std::map<std::string, std::uint32_t*> counts{{"running", &limits.running_jobs},
                                                       {"queued", &limits.queued_jobs},
                                                       {"gpus", &limits.gpus},
                                                       {"cpus", &limits.cpus},
                                                       {"nodes", &limits.nodes},
                                                       {"elements", &limits.array_elements}};
    if (sides[0] == "time")
      limits.time_max = duration(sides[1], Duration{});
    else if (sides[0] == "gpu_minutes")
      limits.gpu_minutes = number(sides[1], 0);
    else
      *counts.at(sides[0]) = number(sides[1], 0);
  }
  return limits;
}

// "day:8:4:2+night:4:-:0": guaranteed, and what may be borrowed and lent, "-" or missing: all.
std::vector<QuotaConfig> quotas_of(const std::string& text) {
  std::vector<QuotaConfig> quotas;
  for (const std::string& part : split(text, '+')) {
    const std::vector<std::string> sides = split(part, ':');
    MUSTER_ASSERT(sides.size() >= 2 && sides.size() <= 4);
    QuotaConfig quota{sides[0], number(sides[1], 0), {}, {}};
    if (sides.size() > 2 && sides[2] != "-") quota.borrow_max = number(sides[2], 0);
    if (sides.size() > 3 && sides[3] != "-") quota.lend_max = number(sides[3], 0);
    quotas.push_back(quota);
  }
  return quotas;
}

Error invalid(const std::string& message) { return fail(ErrorCode::kInvalid, message); }

// "1-9:2%2"
ArraySpec array_of(const std::string& text) {
  ArraySpec array;
  const std::vector<std::string> parts = split(text, '%');
  if (parts.size() == 2) array.running_max = number(parts[1], 0);
  for (const std::string& range : split(parts[0], '+')) {
    const std::vector<std::string> stepped = split(range, ':');
    const std::vector<std::string> ends = split(stepped[0], '-');
    array.ranges.push_back({number(ends.front(), 0), number(ends.back(), 0),
                            stepped.size() == 2 ? number(stepped[1], 1) : 1});
  }
  return array;
}

// "switch!", "switches=2", "switch:leaf1"
TopologyWish topology_of(std::string text) {
  TopologyWish wish;
  wish.required = text.ends_with("!");
  if (wish.required) text.pop_back();
  const std::vector<std::string> counted = split(text, '=');
  const std::vector<std::string> named = split(text, ':');
  if (counted.size() == 2) wish.count = number(counted[1], 0);
  if (named.size() == 2) wish.name = named[1];
  const std::string kind = text.substr(0, text.find_first_of("=:"));
  MUSTER_ASSERT(kind.empty() || enum_from_name(kind, wish.kind));
  return wish;
}

Group group_of(const std::map<std::string, std::string>& options) {
  const auto get = [&](const char* key) {
    const auto found = options.find(key);
    return found == options.end() ? std::string() : found->second;
  };
  Group group;
  const std::vector<std::string> nodes = split(get("nodes"), '-');
  group.nodes_min = number(nodes.empty() ? "" : nodes.front(), 1);
  group.nodes_max = number(nodes.empty() ? "" : nodes.back(), 1);
  group.tasks_per_node = number(get("tasks"), 1);
  group.gpus_per_node = number(get("gpus"), 0);
  group.cpus_per_node = number(get("cpus"), 1);
  group.memory_all = get("mem") == "0";
  group.memory_mib_per_node = group.memory_all ? 0 : memory(get("mem"), 0);
  group.one_clique = get("clique") == "yes";
  group.gpus_per_socket = number(get("per_socket"), 0);
  group.exclusive = get("exclusive") == "yes";
  if (const std::string wish = get("wish"); !wish.empty()) group.wish = parse_wish(wish)->all;
  group.gpu_milli = number(get("milli"), kMilliPerGpu);
  group.gpu_memory_mib_min = memory(get("gpu_mem"), 0);
  group.gpu_types = split(get("type"), ',');
  group.features = split(get("features"), ',');
  group.nodes_only = split(get("only"), ',');
  group.nodes_excluded = split(get("not"), ',');
  return group;
}

Inventory inventory_of(const std::string& name, const Statement& statement) {
  Inventory inventory = World::inventory(
      name, number(statement.option("gpus"), 0), number(statement.option("cpus"), 64),
      memory(statement.option("mem"), 512000), statement.option("type", "h100"));
  inventory.switch_name = statement.option("switch");
  inventory.features = split(statement.option("features"), ',');
  inventory.cpus_per_core = number(statement.option("threads"), 1);
  const std::vector<std::string> cliques = split(statement.option("cliques"), ',');
  const std::vector<std::string> sockets = split(statement.option("sockets"), ',');
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    inventory.gpus[i].memory_mib = memory(statement.option("gpu_mem"), 81920);
    if (i < cliques.size()) inventory.gpus[i].clique = number(cliques[i], 0);
    if (i < sockets.size()) inventory.gpus[i].numa_node = number(sockets[i], 0);
  }
  return inventory;
}

}  // namespace

Stage::Stage() : fleet_(world_) {
  config_ = World::config();
  config_.queues[0].time_max = hours(24);
}

const std::map<std::string, Stage::Verb>& Stage::verbs() {
  static const std::map<std::string, Verb> kVerbs{{"queue", &Stage::queue},
                                                  {"account", &Stage::account},
                                                  {"limits", &Stage::limits},
                                                  {"node", &Stage::node},
                                                  {"submit", &Stage::submit},
                                                  {"again", &Stage::again},
                                                  {"licence", &Stage::licence},
                                                  {"switch", &Stage::topology},
                                                  {"qos", &Stage::qos},
                                                  {"user", &Stage::user},
                                                  {"points", &Stage::points},
                                                  {"cancel", &Stage::person},
                                                  {"hold", &Stage::person},
                                                  {"release", &Stage::person},
                                                  {"requeue", &Stage::person},
                                                  {"top", &Stage::person},
                                                  {"signal", &Stage::person},
                                                  {"set", &Stage::set},
                                                  {"end", &Stage::end},
                                                  {"drain", &Stage::nodes},
                                                  {"resume", &Stage::nodes},
                                                  {"remove", &Stage::nodes},
                                                  {"dead", &Stage::nodes},
                                                  {"lose", &Stage::worker},
                                                  {"hello", &Stage::worker},
                                                  {"reboot", &Stage::worker},
                                                  {"deaf", &Stage::worker},
                                                  {"hears", &Stage::worker},
                                                  {"fails", &Stage::worker},
                                                  {"works", &Stage::worker},
                                                  {"lost_orders", &Stage::worker},
                                                  {"restart", &Stage::restart},
                                                  {"fed", &Stage::fed},
                                                  {"estimate", &Stage::estimate},
                                                  {"expect", &Stage::expect},
                                                  {"reserve", &Stage::reserve},
                                                  {"alter", &Stage::reserve},
                                                  {"unreserve", &Stage::unreserve},
                                                  {"wall", &Stage::wall_clock}};
  return kVerbs;
}

Result<void> Stage::play(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    const Result<void> done = run(statement);
    if (!done)
      return invalid("line " + std::to_string(statement.line) + ": " + done.error().message);
  }
  if (refusal_open_) return invalid("the last command was refused: " + reply_.error->message);
  return world_.digest_of_replay() == world_.engine.cluster().digest()
             ? Result<void>()
             : invalid("a replay of the journal gives another digest");
}

Result<void> Stage::check_answered(const Statement& next) const {
  const bool is_expected =
      next.verb == "expect" && !next.words.empty() && next.words[0] == "refused";
  if (!refusal_open_ || is_expected) return {};
  return invalid("the command before was refused: " + reply_.error->message);
}

Result<void> Stage::run(const Statement& statement) {
  const auto verb = verbs().find(statement.verb);
  if (verb == verbs().end()) return invalid("there is no statement \"" + statement.verb + "\"");
  if (const Result<void> answered = check_answered(statement); !answered) return answered;
  if (statement.at) {
    if (const Result<void> advanced = advance(*statement.at); !advanced) return advanced;
  }
  const Result<void> done = (this->*verb->second)(statement);
  if (began_) fleet_.settle();
  return done;
}

// A second at a time, with heartbeats and a tick.
Result<void> Stage::advance(Duration to) {
  if (to < clock_) return invalid("the clock cannot go back to " + to_text(to));
  begin();
  while (clock_ < to) {
    const Duration piece = std::min(seconds(1), to - clock_);
    clock_ = clock_ + piece;
    world_.at = world_.at + piece;
    for (auto& [name, worker] : fleet_.workers()) {
      if (worker.connected && !worker.deaf) fleet_.step(WorkerHeard{name});
    }
    fleet_.step(Tick{});
    fleet_.settle();
  }
  return {};
}

void Stage::begin() {
  if (began_) return;
  began_ = true;
  world_.begin(config_);
}

Outcome Stage::command(const Command& command) {
  begin();
  Outcome out = fleet_.step(command);
  reply_ = out.reply;
  refusal_open_ = reply_.error.has_value();
  return out;
}

Result<void> Stage::queue(const Statement& statement) {
  if (statement.words.empty()) return invalid("queue NAME");
  QueueConfig queue;
  queue.name = statement.words[0];
  queue.priority = static_cast<std::int32_t>(number(statement.option("priority"), 0));
  queue.time_default = duration(statement.option("time"), hours(1));
  queue.time_max = duration(statement.option("time_max"), hours(24));
  queue.nodes = split(statement.option("nodes"), ',');
  queue.accounts = split(statement.option("accounts"), ',');
  queue.retries_max = number(statement.option("retries"), 3);
  queue.planned_starts = number(statement.option("planned"), 4);
  enum_from_name(statement.option("order", "submit"), queue.order);
  queue.predict = statement.has("predict");
  queue.open = !statement.has("closed");
  queue.limits = limits_of(statement.option("limits"));
  queue.user_limits = limits_of(statement.option("user_limits"));
  queue.account_limits = limits_of(statement.option("account_limits"));
  queue.kill_wait = duration(statement.option("kill_wait"), queue.kill_wait);
  queue.preempts = split(statement.option("preempts"), ',');
  queue.preempt_after = duration(statement.option("preempt_after"), {});
  const std::string grace = statement.option("reclaim_grace");
  queue.reclaim_grace = grace == "0" ? Duration{} : duration(grace, queue.reclaim_grace);
  if (statement.option("preempt_mode") == "cancel") queue.preempt_mode = PreemptMode::kCancel;
  auto& queues = config_.queues;
  queues.erase(std::remove_if(queues.begin(), queues.end(),
                              [&](const QueueConfig& known) { return known.name == queue.name; }),
               queues.end());
  queues.push_back(queue);
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::account(const Statement& statement) {
  if (statement.words.empty()) return invalid("account NAME");
  AccountConfig account{statement.words[0], statement.option("parent"),
                        split(statement.option("users"), ','),
                        number(statement.option("shares"), 1)};
  account.limits = limits_of(statement.option("limits"));
  account.user_limits = limits_of(statement.option("user_limits"));
  account.quotas = quotas_of(statement.option("quota"));
  auto& accounts = config_.accounts;
  const auto known = std::find_if(accounts.begin(), accounts.end(), [&](const AccountConfig& one) {
    return one.name == account.name;
  });
  if (known == accounts.end())
    accounts.push_back(account);
  else
    *known = account;
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::qos(const Statement& statement) {
  if (statement.words.empty()) return invalid("qos NAME");
  QosConfig qos;
  qos.name = statement.words[0];
  qos.priority = signed_number(statement.option("priority", "0"));
  qos.usage_milli = number(statement.option("usage"), 1000);
  qos.accounts = split(statement.option("accounts"), ',');
  qos.preempts = split(statement.option("preempts"), ',');
  qos.preempt_after = duration(statement.option("preempt_after"), Duration{});
  qos.limits = limits_of(statement.option("limits"));
  qos.user_limits = limits_of(statement.option("user_limits"));
  qos.account_limits = limits_of(statement.option("account_limits"));
  auto& all = config_.qos;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const QosConfig& known) { return known.name == qos.name; }),
            all.end());
  all.push_back(qos);
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::user(const Statement& statement) {
  if (statement.words.empty()) return invalid("user NAME");
  auto& all = config_.users;
  const std::string& name = statement.words[0];
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const UserConfig& known) { return known.name == name; }),
            all.end());
  all.push_back({name, limits_of(statement.option("limits"))});
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::limits(const Statement& statement) {
  LimitsConfig& limits = config_.limits;
  limits.suspect_after = duration(statement.option("suspect"), limits.suspect_after);
  limits.prepare_timeout = duration(statement.option("prepare"), limits.prepare_timeout);
  limits.forget_after = duration(statement.option("forget"), limits.forget_after);
  limits.jobs_per_user_max = number(statement.option("user_jobs"), 1000);
  limits.jobs_max = number(statement.option("jobs"), 1000);
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::points(const Statement& statement) {
  PriorityConfig& priority = config_.priority;
  priority.fair_share = number(statement.option("fair_share"), priority.fair_share);
  priority.age = number(statement.option("age"), priority.age);
  priority.size = number(statement.option("size"), priority.size);
  priority.half_life = duration(statement.option("half_life"), priority.half_life);
  priority.cpu_milli = number(statement.option("cpu_milli"), priority.cpu_milli);
  if (!statement.option("type").empty())
    priority.gpu_types.push_back(
        {statement.option("type"), number(statement.option("milli"), 1000)});
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::topology(const Statement& statement) {
  if (statement.words.empty()) return invalid("switch NAME");
  config_.switches.push_back({statement.words[0], split(statement.option("nodes"), ','),
                              split(statement.option("switches"), ','), statement.has("block")});
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::licence(const Statement& statement) {
  if (statement.words.empty()) return invalid("licence NAME");
  auto& licences = config_.licences;
  const std::string& name = statement.words[0];
  licences.erase(std::remove_if(licences.begin(), licences.end(),
                                [&](const LicenceConfig& known) { return known.name == name; }),
                 licences.end());
  if (!statement.has("gone")) licences.push_back({name, number(statement.option("total"), 1)});
  if (began_) command(ApplyConfig{World::admin(), config_});
  return {};
}

Result<void> Stage::node(const Statement& statement) {
  if (statement.words.empty()) return invalid("node NAME");
  begin();
  fleet_.add(statement.words[0], inventory_of(statement.words[0], statement));
  return {};
}

Requester Stage::requester(const Statement& statement) const {
  const std::string name = statement.option("user", "kim");
  if (name == "root") return World::admin();
  std::uint32_t uid = kFirstUid;
  for (const char letter : name) uid += static_cast<unsigned char>(letter);
  Requester who = World::user(name, uid);
  if (name == "op") who.role = Role::kOperator;
  return who;
}

// "afterok:a:b_3": jobs by their names here, "nobody" for one that never was.
Result<Depends> Stage::depends_of(const std::string& text) const {
  std::string numbered;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_of(":,?+", i), text.size());
    const std::string word = text.substr(i, end - i);
    const std::string job = word.substr(0, word.rfind('_'));
    const auto found = jobs_.find(job);
    const bool named = i > 0 && text[i - 1] == ':';
    if (named && job == "nobody")
      numbered += "999999";
    else if (named && found != jobs_.end())
      numbered += std::to_string(found->second.value) + word.substr(job.size());
    else
      numbered += word;
    if (end < text.size()) numbered += text[end];
    i = end + 1;
  }
  if (numbered.empty()) return Depends{};
  return parse_depends(numbered);
}

// Times are those of the scenario's own clock.
WallTime Stage::wall_of(const std::string& text) const {
  const bool ago = text[0] == '-';
  const Duration at = duration(ago ? text.substr(1) : text, Duration{});
  return {start_.us + (ago ? -at.us : at.us)};
}

Result<void> Stage::gate_of(const Statement& statement, JobSpec& spec) const {
  if (!statement.option("after").empty()) {
    Result<Depends> depends = depends_of(statement.option("after"));
    if (!depends) return depends.error();
    depends->kill_invalid = statement.has("kill_invalid");
    spec.depends = *std::move(depends);
  }
  if (!statement.option("begin").empty()) spec.begin = wall_of(statement.option("begin"));
  if (!statement.option("deadline").empty()) spec.deadline = wall_of(statement.option("deadline"));
  return {};
}

Result<NewJob> Stage::job_of(const Statement& statement) const {
  NewJob job;
  JobSpec& spec = job.spec;
  spec.name = statement.option("name", statement.words[0]);
  spec.queue = statement.option("queue");
  spec.account = statement.option("account");
  spec.time_limit = duration(statement.option("time"), Duration{});
  spec.priority = signed_number(statement.option("priority", "0"));
  spec.qos = statement.option("qos");
  spec.nice = signed_number(statement.option("nice", "0"));
  spec.hold = statement.has("hold");
  spec.requeue = !statement.has("no_requeue");
  spec.first_node_only = statement.has("first_node");
  spec.topology = topology_of(statement.option("topology"));
  spec.licences = licences_of(statement.option("licences"));
  spec.reservation = statement.option("reservation");
  if (!statement.option("array").empty()) spec.array = array_of(statement.option("array"));
  if (const Result<void> gate = gate_of(statement, spec); !gate) return gate.error();
  if (statement.option("group").empty()) {
    spec.groups = {group_of(statement.options)};
    return job;
  }
  for (const std::string& text : split(statement.option("group"), '/')) {
    std::map<std::string, std::string> options;
    for (const std::string& pair : split(text, ',')) {
      const std::vector<std::string> sides = split(pair, '=');
      if (sides.size() != 2) return invalid("group: KEY=VALUE,… / …");
      options[sides[0]] = sides[1];
    }
    spec.groups.push_back(group_of(options));
  }
  return job;
}

Result<void> Stage::submit(const Statement& statement) {
  if (statement.words.empty()) return invalid("submit NAME");
  const Result<NewJob> job = job_of(statement);
  if (!job) return job.error();
  const Requester who = requester(statement);
  const SubmitJobs request{
      who, world_.next_request(who.uid.value), {*job}, statement.has("dry_run")};
  const Outcome out = command(request);
  if (!out.reply.jobs.empty()) jobs_[statement.words[0]] = out.reply.jobs[0];
  requests_[statement.words[0]] = request;
  return {};
}

Result<void> Stage::again(const Statement& statement) {
  const auto request = requests_.find(statement.words.empty() ? "" : statement.words[0]);
  if (request == requests_.end()) return invalid("again NAME: nothing of that name was submitted");
  const Outcome out = command(request->second);
  if (out.reply.jobs.empty() || out.reply.jobs[0] == jobs_[statement.words[0]]) return {};
  return invalid("the same request made job " + std::to_string(out.reply.jobs[0].value) +
                 ", another one");
}

// "a" or "a_3".
Result<ElementKey> Stage::element(const std::string& name, bool* given) const {
  const std::size_t underscore = name.rfind('_');
  const std::string job = name.substr(0, underscore);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return invalid("no job was submitted as \"" + job + "\"");
  const bool has_element = underscore != std::string::npos;
  if (given != nullptr) *given = has_element;
  return ElementKey{found->second,
                    Element{has_element ? number(name.substr(underscore + 1), 0) : 0}};
}

Result<JobSelection> Stage::selection(const Statement& statement) const {
  JobSelection which;
  if (statement.has("mine")) {
    which.all_mine = true;
    return which;
  }
  if (statement.words.empty()) return invalid("which job?");
  bool given = false;
  const Result<ElementKey> key = element(statement.words[0], &given);
  if (!key) return key.error();
  which.elements = {*key};
  which.element_given = {given};
  return which;
}

Result<void> Stage::person(const Statement& statement) {
  const Result<JobSelection> which = selection(statement);
  if (!which) return which.error();
  const Requester who = requester(statement);
  if (statement.verb == "cancel") command(CancelJobs{who, *which, 0});
  if (statement.verb == "hold") command(HoldJobs{who, *which});
  if (statement.verb == "release") command(ReleaseJobs{who, *which});
  if (statement.verb == "requeue") command(RequeueJobs{who, *which});
  if (statement.verb == "top") command(TopJobs{who, *which});
  if (statement.verb == "signal") {
    if (statement.words.size() < 2) return invalid("signal JOB NUMBER");
    command(CancelJobs{who, *which, static_cast<std::int32_t>(number(statement.words[1], 0))});
  }
  return {};
}

Result<void> Stage::set(const Statement& statement) {
  const Result<JobSelection> which = selection(statement);
  if (!which) return which.error();
  SetJobs change;
  change.who = requester(statement);
  change.which = *which;
  for (const auto& [key, value] : statement.options) {
    if (key == "time") change.time_limit = duration(value, Duration{});
    if (key == "queue") change.queue = value;
    if (key == "account") change.account = value;
    if (key == "name") change.name = value;
    if (key == "priority") change.priority = signed_number(value);
    if (key == "qos") change.qos = value == "none" ? "" : value;
    if (key == "nice") change.nice = signed_number(value);
    if (key == "throttle") change.throttle = number(value, 0);
    if (key == "begin") change.begin = value == "now" ? WallTime{} : wall_of(value);
    if (key == "deadline") change.deadline = value == "none" ? WallTime{} : wall_of(value);
    if (key == "after") {
      const Result<Depends> depends = depends_of(value);
      if (!depends) return depends.error();
      change.depends = *depends;
    }
    if (key == "reservation") change.reservation = value;
  }
  command(change);
  return {};
}

Result<void> Stage::end(const Statement& statement) {
  if (statement.words.empty()) return invalid("end JOB HOW");
  const Result<ElementKey> key = element(statement.words[0]);
  if (!key) return key.error();
  const Attempt* attempt = world_.engine.cluster().find_attempt(*key);
  if (attempt == nullptr) return invalid(statement.words[0] + " has no attempt that could end");
  const AttemptKey attempt_key = attempt->key;
  ExitRecord record = World::ended(CauseKind::kCompleted);
  Cause& cause = record.cause;
  if (statement.has("oom")) cause.kind = CauseKind::kOutOfMemory;
  if (statement.has("gpu_lost")) cause.kind = CauseKind::kGpuLost;
  if (statement.has("launch_failed")) cause.kind = CauseKind::kLaunchFailed;
  if (statement.has("timeout")) cause.kind = CauseKind::kTimedOut;
  cause.exit_status = static_cast<std::int32_t>(number(statement.option("exit"), 0));
  cause.signal = static_cast<std::int32_t>(number(statement.option("signal"), 0));
  if (cause.exit_status != 0) cause.kind = CauseKind::kExited;
  if (cause.signal != 0) cause.kind = CauseKind::kSignalled;
  if (!statement.option("rank").empty())
    cause.rank = static_cast<std::int32_t>(number(statement.option("rank"), 0));
  enum_from_name(statement.option("retry", "no"), cause.retry);
  const std::string on = statement.option("on");
  const std::shared_ptr<const Place> place = attempt->place;
  for (const Member& member : place->members) {
    const std::string name = world_.engine.cluster().find_node(member.node)->name;
    if (on.empty() || on == name) fleet_.at(name).end_with(attempt_key, record);
  }
  return {};
}

Result<void> Stage::nodes(const Statement& statement) {
  if (statement.words.empty()) return invalid("which node?");
  NodeVerb verb = NodeVerb::kDrain;
  if (statement.verb == "resume") verb = NodeVerb::kResume;
  if (statement.verb == "remove") verb = NodeVerb::kRemove;
  if (statement.verb == "dead") verb = NodeVerb::kConfirmDead;
  Requester who = World::admin();
  if (!statement.option("user").empty()) who = requester(statement);
  ChangeNodes change{who, verb, {statement.words[0]}, statement.option("reason", "test")};
  if (!statement.option("deadline").empty())
    change.deadline = wall_at(statement.option("deadline"));
  command(change);
  return {};
}

Result<void> Stage::worker(const Statement& statement) {
  if (statement.words.empty()) return invalid("which node?");
  const std::string& name = statement.words[0];
  if (fleet_.workers().count(name) == 0) return invalid("there is no node " + name);
  FakeWorker& worker = fleet_.at(name);
  if (statement.verb == "lose") fleet_.lose(name);
  if (statement.verb == "hello") fleet_.hello(name);
  if (statement.verb == "deaf") worker.deaf = true;
  if (statement.verb == "hears") worker.deaf = false;
  if (statement.verb == "fails") worker.fails_prepare = true;
  if (statement.verb == "works") worker.fails_prepare = false;
  if (statement.verb == "lost_orders") {
    worker.attempts.clear();
    worker.outbox.clear();
  }
  if (statement.verb == "reboot") {
    worker.reboot();
    fleet_.hello(name);
  }
  return {};
}

Result<void> Stage::restart(const Statement&) {
  World next;
  for (const Record& record : world_.journal) next.engine.replay(record);
  if (next.engine.cluster().digest() != world_.engine.cluster().digest()) {
    return invalid("the restarted controller remembers something else");
  }
  next.journal = world_.journal;
  next.at = world_.at;
  next.wall_step = world_.wall_step;
  next.skip_requests(world_.requests());
  world_ = std::move(next);
  for (auto& [name, worker] : fleet_.workers()) worker.connected = false;
  fleet_.step(BeginEpoch{Epoch{world_.engine.cluster().epoch().value + 1}, "c1", "boot", "0.1.0"});
  for (auto& [name, worker] : fleet_.workers()) {
    if (!worker.deaf) fleet_.hello(name);
  }
  return {};
}

Result<void> Stage::estimate(const Statement&) {
  Outcome out = fleet_.step(EstimateStarts{1'000'000, true});
  while (out.estimate_wanted) out = fleet_.step(EstimateStarts{1'000'000, false});
  return {};
}

Result<void> Stage::fed(const Statement&) {
  fleet_.step(FeedReached{world_.engine.seq_last()});
  return {};
}

}  // namespace muster::scenario
