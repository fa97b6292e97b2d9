// Checking and joining configurations.
#include "controller/core/config_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::uint32_t kWeightMax = 1000000;
constexpr std::uint64_t kGpuMinutesMax = 1000000000000;
constexpr std::uint32_t kQuotaGpusMax = 1000000000;
constexpr std::size_t kObjectsMax = 100000;
constexpr std::size_t kJobsNamed = 3;

Error invalid(std::string message) { return fail(ErrorCode::kInvalid, std::move(message)); }

template <class Object>
bool has(const std::vector<Object>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const Object& one) { return one.name == name; });
}

template <class Object>
Result<void> check_names(const std::vector<Object>& all, const std::string& kind) {
  if (all.size() > kObjectsMax)
    return invalid("there are more than " + std::to_string(kObjectsMax) + " of " + kind);
  std::set<std::string> seen;
  for (const Object& one : all) {
    const bool is_every_user = kind == "user" && one.name == kEveryUser;
    if (!is_every_user && !check_name(one.name))
      return invalid(kind + ": '" + escape_for_terminal(one.name) +
                     "' is no name: 1 to 128 of A-Z a-z 0-9 . _ -");
    if (!seen.insert(one.name).second) return invalid(kind + " " + one.name + " is there twice");
  }
  return {};
}

Result<void> check_accounts_exist(const ClusterConfig& config, const std::string& whose,
                                  const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!has(config.accounts, name))
      return invalid(whose + ": accounts: there is no account " + escape_for_terminal(name));
  }
  return {};
}

Result<void> check_limits(const std::string& whose, const Limits& limits) {
  if (limits.gpu_minutes > kGpuMinutesMax || limits.time_max.us < 0)
    return invalid(whose + ": a limit is out of range");
  return {};
}

// Only downwards, so that no two jobs stop each other in turn.
Result<void> check_preemption(const ClusterConfig& config, const QueueConfig& queue) {
  const std::string whose = "queue " + queue.name + ": preempts: ";
  for (const std::string& name : queue.preempts) {
    const auto victim = std::find_if(config.queues.begin(), config.queues.end(),
                                     [&](const QueueConfig& other) { return other.name == name; });
    if (victim == config.queues.end())
      return invalid(whose + "there is no queue " + escape_for_terminal(name));
    if (victim->priority >= queue.priority)
      return invalid(whose + name + " must have a lower priority than " + queue.name);
  }
  return {};
}

// Its own jobs are stopped and go on later, for those that have room made.
Result<void> check_attained(const QueueConfig& queue) {
  if (queue.order != QueueOrder::kAttained) return {};
  const std::string whose = "queue " + queue.name + ": order = \"attained\" ";
  if (queue.preempt_mode != PreemptMode::kRequeue)
    return invalid(whose + "needs preempt_mode = \"requeue\": jobs are stopped to go on later");
  if (queue.planned_starts == 0)
    return invalid(whose + "needs planned_starts of at least 1: room is made for those only");
  return {};
}

Result<void> check_queues(const ClusterConfig& config) {
  if (const Result<void> names = check_names(config.queues, "queue"); !names) return names;
  for (const QueueConfig& queue : config.queues) {
    const std::string whose = "queue " + queue.name;
    if (queue.time_max.us < 0 || queue.time_default.us < 0 || queue.kill_wait.us < 0)
      return invalid(whose + ": a time is below 0");
    if (queue.time_max.us == 0 && queue.time_default.us == 0)
      return invalid(whose + " has no time limit; set time_max, or time_default");
    if (queue.time_max.us != 0 && queue.time_default > queue.time_max)
      return invalid(whose + ": time_default is longer than time_max");
    if (const Result<void> known = check_accounts_exist(config, whose, queue.accounts); !known)
      return known;
    if (queue.preempt_after.us < 0) return invalid(whose + ": preempt_after is below 0");
    if (queue.reclaim_grace.us < 0) return invalid(whose + ": reclaim_grace is below 0");
    if (const Result<void> fine = check_preemption(config, queue); !fine) return fine;
    if (const Result<void> fine = check_attained(queue); !fine) return fine;
    for (const Limits* limits : {&queue.limits, &queue.user_limits, &queue.account_limits}) {
      if (const Result<void> fine = check_limits(whose, *limits); !fine) return fine;
    }
  }
  if (has(config.queues, config.queue_default)) return {};
  return invalid("queue_default: there is no queue " + escape_for_terminal(config.queue_default) +
                 "; name one that there is as queue_default first");
}

// Walks up from every account; a walk longer than there are accounts goes in a circle.
Result<void> check_tree(const ClusterConfig& config) {
  std::map<std::string, const AccountConfig*> by_name;
  for (const AccountConfig& account : config.accounts) by_name[account.name] = &account;
  for (const AccountConfig& account : config.accounts) {
    const AccountConfig* at = &account;
    for (std::size_t steps = 0; !at->parent.empty(); ++steps) {
      const auto parent = by_name.find(at->parent);
      if (parent == by_name.end()) {
        return invalid("account " + at->name + ": parent: there is no account " +
                       escape_for_terminal(at->parent));
      }
      if (steps > config.accounts.size()) {
        return invalid("account " + account.name + ": parent: the accounts above it go in a " +
                       "circle, through " + at->name);
      }
      at = parent->second;
    }
  }
  return {};
}

Result<void> check_accounts(const ClusterConfig& config) {
  if (const Result<void> names = check_names(config.accounts, "account"); !names) return names;
  for (const AccountConfig& account : config.accounts) {
    const std::string whose = "account " + account.name;
    if (account.shares == 0 || account.shares > kWeightMax)
      return invalid(whose + ": shares: from 1 to " + std::to_string(kWeightMax));
    for (const Limits* limits : {&account.limits, &account.user_limits}) {
      if (const Result<void> fine = check_limits(whose, *limits); !fine) return fine;
    }
  }
  if (const Result<void> tree = check_tree(config); !tree) return tree;
  if (has(config.accounts, config.account_default)) return {};
  return invalid("account_default: there is no account " +
                 escape_for_terminal(config.account_default));
}

// Those that are left when whoever stops nobody of those left is taken away, again and again.
std::set<std::string> in_circles(const std::vector<QosConfig>& all) {
  std::map<std::string, std::vector<std::string>> stopped_by;
  std::map<std::string, std::size_t> stops;
  std::set<std::string> left;
  std::vector<std::string> done;
  for (const QosConfig& qos : all) {
    const std::set<std::string> victims(qos.preempts.begin(), qos.preempts.end());
    for (const std::string& victim : victims) stopped_by[victim].push_back(qos.name);
    left.insert(qos.name);
    stops[qos.name] = victims.size();
    if (victims.empty()) done.push_back(qos.name);
  }
  while (!done.empty()) {
    const std::string name = std::move(done.back());
    done.pop_back();
    left.erase(name);
    for (const std::string& above : stopped_by[name]) {
      if (--stops[above] == 0) done.push_back(above);
    }
  }
  return left;
}

// "a, b, a": from one on, the first victim that is in a circle, until one comes again.
std::string circle_text(const std::vector<QosConfig>& all, const std::set<std::string>& circles) {
  std::vector<std::string> way{*circles.begin()};
  const auto again = [&way] { return std::find(way.begin(), way.end() - 1, way.back()); };
  while (way.size() == 1 || again() == way.end() - 1) {
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const QosConfig& one) { return one.name == way.back(); });
    way.push_back(*std::find_if(at->preempts.begin(), at->preempts.end(),
                                [&](const auto& name) { return circles.count(name) != 0; }));
  }
  std::string text;
  for (auto at = again(); at != way.end(); ++at) text += (text.empty() ? "" : ", ") + *at;
  return text;
}

Result<void> check_all_qos(const ClusterConfig& config) {
  if (const Result<void> names = check_names(config.qos, "qos"); !names) return names;
  if (const auto flaw = qos_flaw(config.qos))
    return invalid("qos " + config.qos[flaw->index].name + ": preempts: " + flaw->text);
  for (const QosConfig& qos : config.qos) {
    const std::string whose = "qos " + qos.name;
    if (qos.preempt_after.us < 0) return invalid(whose + ": preempt_after is below 0");
    if (qos.usage_milli > kWeightMax)
      return invalid(whose + ": usage_milli: from 0 to " + std::to_string(kWeightMax));
    if (const Result<void> known = check_accounts_exist(config, whose, qos.accounts); !known)
      return known;
    for (const Limits* limits : {&qos.limits, &qos.user_limits, &qos.account_limits}) {
      if (const Result<void> fine = check_limits(whose, *limits); !fine) return fine;
    }
  }
  return {};
}

// Names of what jobs may ask for, that were there and are no more.
template <class Object>
std::set<std::string> gone(const std::vector<Object>& before, const std::vector<Object>& after) {
  std::set<std::string> names;
  for (const Object& one : before) {
    if (!has(after, one.name)) names.insert(one.name);
  }
  return names;
}

struct Need {
  const char* kind;
  std::set<std::string> gone;
  std::map<std::string, std::vector<JobId>> users;
  void look_at(const std::string& name, JobId job) {
    if (gone.count(name) != 0) users[name].push_back(job);
  }
};

template <class Object>
void keep_run_time(const std::vector<Object>& now, const ClusterConfig& running,
                   const std::string& kind, std::vector<Object>& file,
                   std::vector<std::string>& notes) {
  for (const std::string& removed : running.removed) {
    const auto is_it = [&](const Object& one) { return kind + " " + one.name == removed; };
    const auto found = std::find_if(file.begin(), file.end(), is_it);
    if (found == file.end()) continue;
    notes.push_back(removed + " was removed with gpuadmin and stays away");
    file.erase(found);
  }
  for (const Object& one : now) {
    if (!one.at_run_time) continue;
    const auto found = std::find_if(file.begin(), file.end(),
                                    [&](const Object& other) { return other.name == one.name; });
    if (found == file.end()) {
      file.push_back(one);
      continue;
    }
    Object same = one;
    same.at_run_time = false;
    if (same != *found)
      notes.push_back(kind + " " + one.name + " stays as gpuadmin set it, the file says otherwise");
    *found = one;
  }
}

}  // namespace

std::optional<QosFlaw> qos_flaw(const std::vector<QosConfig>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::string& name : all[i].preempts) {
      if (name == all[i].name) return QosFlaw{i, "a QOS cannot stop jobs of its own"};
      if (!has(all, name)) return QosFlaw{i, "there is no qos " + escape_for_terminal(name)};
    }
  }
  const std::set<std::string> circles = in_circles(all);
  if (circles.empty()) return std::nullopt;
  const std::string text = circle_text(all, circles);
  const std::string first = text.substr(0, text.find(','));
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const QosConfig& one) { return one.name == first; });
  return QosFlaw{static_cast<std::size_t>(at - all.begin()),
                 "goes in a circle (" + text + "): jobs would stop each other in turn"};
}

Result<void> check_quotas(const ClusterConfig& config) {
  std::map<std::string, const AccountConfig*> by_name;
  for (const AccountConfig& account : config.accounts) by_name[account.name] = &account;
  for (const AccountConfig& account : config.accounts) {
    std::set<std::string> seen;
    for (const QuotaConfig& quota : account.quotas) {
      const std::string whose =
          "account " + account.name + ": quota of queue " + escape_for_terminal(quota.queue) + ": ";
      const auto queue =
          std::find_if(config.queues.begin(), config.queues.end(),
                       [&](const QueueConfig& one) { return one.name == quota.queue; });
      if (queue == config.queues.end()) return invalid(whose + "there is no such queue");
      if (!seen.insert(quota.queue).second) return invalid(whose + "is there twice");
      if (std::max(quota.guaranteed, quota.borrow_max.value_or(0)) > kQuotaGpusMax)
        return invalid(whose + "is out of range");
      if (quota.lend_max && *quota.lend_max > quota.guaranteed)
        return invalid(whose + "lend_max is more than guaranteed");
      for (auto at = by_name.find(account.parent); at != by_name.end();
           at = by_name.find(at->second->parent)) {
        const auto& above = at->second->quotas;
        const auto same = [&](const QuotaConfig& one) { return one.queue == quota.queue; };
        if (std::any_of(above.begin(), above.end(), same))
          return invalid(whose + "account " + at->first + " above it has one, too");
      }
    }
  }
  return {};
}

Result<void> check_config(const ClusterConfig& config) {
  if (const Result<void> queues = check_queues(config); !queues) return queues;
  if (const Result<void> accounts = check_accounts(config); !accounts) return accounts;
  if (const Result<void> quotas = check_quotas(config); !quotas) return quotas;
  if (const Result<void> qos = check_all_qos(config); !qos) return qos;
  if (const Result<void> names = check_names(config.users, "user"); !names) return names;
  if (const Result<void> names = check_names(config.licences, "licence"); !names) return names;
  const PriorityConfig& priority = config.priority;
  for (const std::uint32_t weight : {priority.fair_share, priority.age, priority.size}) {
    if (weight > kWeightMax)
      return invalid("priority: a weight is above " + std::to_string(kWeightMax));
  }
  return {};
}

Result<void> check_in_use(const Cluster& cluster, const ClusterConfig& next) {
  const ClusterConfig& now = cluster.config();
  Need needs[] = {{"queue", gone(now.queues, next.queues), {}},
                  {"account", gone(now.accounts, next.accounts), {}},
                  {"qos", gone(now.qos, next.qos), {}},
                  {"licence", gone(now.licences, next.licences), {}}};
  const auto is_idle = [](const Need& need) { return need.gone.empty(); };
  if (std::all_of(std::begin(needs), std::end(needs), is_idle)) return {};
  for (const auto& [id, job] : cluster.jobs()) {
    if (job.is_ended()) continue;
    needs[0].look_at(job.facts().queue(), id);
    needs[1].look_at(job.facts().account(), id);
    needs[2].look_at(job.facts().qos(), id);
    for (const LicenceCount& licence : job.facts().terms->licences)
      needs[3].look_at(licence.name, id);
  }
  for (const Need& need : needs) {
    if (need.users.empty()) continue;
    const auto& [name, jobs] = *need.users.begin();
    std::string list;
    for (std::size_t i = 0; i < jobs.size() && i < kJobsNamed; ++i)
      list += (i == 0 ? "" : ", ") + std::to_string(jobs[i].value);
    if (jobs.size() > kJobsNamed) list += ", …";
    return fail(ErrorCode::kConflict, std::string(need.kind) + " " + name +
                                          " cannot be removed: " + std::to_string(jobs.size()) +
                                          (jobs.size() == 1 ? " job uses it (" : " jobs use it (") +
                                          list + "); move or cancel them first");
  }
  return {};
}

std::vector<std::string> config_warnings(const ClusterConfig& config) {
  const QueueConfig* longest = nullptr;
  for (const QueueConfig& queue : config.queues) {
    if (longest == nullptr || queue.time_max > longest->time_max) longest = &queue;
  }
  const Duration half_life = config.priority.half_life;
  if (longest == nullptr || longest->time_max <= half_life) return {};
  return {"priority.half_life (" + to_text(half_life) + ") is below the longest time limit (" +
          to_text(longest->time_max) + ", queue " + longest->name +
          "): what a long job used is half forgotten before it ends"};
}

ClusterConfig join_run_time(const ClusterConfig& now, ClusterConfig file,
                            std::vector<std::string>& notes) {
  std::vector<std::string> removed = now.removed;
  const auto is_in_file = [&file](const std::string& what) {
    const std::string name = what.substr(what.find(' ') + 1);
    if (what.starts_with("queue ")) return has(file.queues, name);
    if (what.starts_with("account ")) return has(file.accounts, name);
    if (what.starts_with("qos ")) return has(file.qos, name);
    if (what.starts_with("licence ")) return has(file.licences, name);
    return has(file.users, name);
  };
  removed.erase(std::remove_if(removed.begin(), removed.end(),
                               [&](const std::string& what) { return !is_in_file(what); }),
                removed.end());
  keep_run_time(now.queues, now, "queue", file.queues, notes);
  keep_run_time(now.accounts, now, "account", file.accounts, notes);
  keep_run_time(now.qos, now, "qos", file.qos, notes);
  keep_run_time(now.users, now, "user", file.users, notes);
  keep_run_time(now.licences, now, "licence", file.licences, notes);
  file.removed = std::move(removed);
  return file;
}

}  // namespace muster
