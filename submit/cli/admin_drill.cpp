// gpuadmin drill: kills one of our daemons on a live system and counts what that cost. Small jobs
// are submitted before, while and after it is away; then each must have run once and be accounted
// for once.
#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <thread>

#include "base/message/accounting.h"
#include "base/message/json.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/terminal.h"
#include "submit/cli/user.h"

extern char** environ;

namespace muster {

namespace {

using Steady = std::chrono::steady_clock;

constexpr int kProbes = 40;
constexpr int kProbesBeforeKill = 10;
constexpr auto kProbeEvery = std::chrono::milliseconds(50);
constexpr auto kPatience = std::chrono::seconds(120);
constexpr auto kLookEvery = std::chrono::milliseconds(200);

struct DrillReply {
  std::string victim;
  std::uint32_t acknowledged = 0;
  std::uint32_t lost = 0;      // Acknowledged, and not there afterwards or never ended.
  std::uint32_t repeated = 0;  // More than one attempt, or more than one job for one request.
  std::uint32_t unbilled = 0;  // Ended without exactly one row in the accounts.
  std::uint32_t late_ms = 0;   // Longest wait for an answer.
  bool accounts_checked = false;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "victim", self.victim);
    visit(2, "acknowledged", self.acknowledged);
    visit(3, "lost", self.lost);
    visit(4, "repeated", self.repeated);
    visit(5, "unbilled", self.unbilled);
    visit(6, "late_ms", self.late_ms);
    visit(7, "accounts_checked", self.accounts_checked);
  }
};

std::uint32_t ms_since(Steady::time_point begin) {
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - begin);
  return static_cast<std::uint32_t>(took.count());
}

// The probes belong to an ordinary user: root owns no jobs. The saved uid lets kill() be root
// again.
Result<void> act_as(const std::string& name) {
  const std::optional<UserIds> user = find_user(name);
  if (!user) return fail(ErrorCode::kNotFound, "drill: no user is named '" + name + "'");
  if (geteuid() != 0) return fail(ErrorCode::kConflict, "drill: --user needs root");
  if (initgroups(name.c_str(), user->gid) != 0 || setegid(user->gid) != 0 ||
      seteuid(user->uid) != 0) {
    return fail(ErrorCode::kUnavailable,
                std::string("drill: cannot act as ") + name + ": " + std::strerror(errno));
  }
  return {};
}

Result<void> kill_as_root(int pid) {
  const uid_t user = geteuid();
  const bool was_root = getuid() == 0;
  if (was_root && seteuid(0) != 0) return fail(ErrorCode::kUnavailable, "drill: cannot be root");
  const int failed = kill(pid, SIGKILL) == 0 ? 0 : errno;
  if (was_root && seteuid(user) != 0) _exit(1);
  if (failed == 0) return {};
  return fail(ErrorCode::kConflict, "drill: cannot kill process " + std::to_string(pid) + ": " +
                                        std::strerror(failed) +
                                        "; run it as root, with the "
                                        "daemon's pid");
}

SubmitBody probe() {
  SubmitBody body;
  body.jobs.resize(1);
  SubmitJob& job = body.jobs[0];
  job.spec.name = "drill";
  job.spec.groups.resize(1);
  job.spec.time_limit = minutes(5);
  job.launch.is_command = true;
  job.launch.argv = {"/bin/true"};
  job.launch.cwd = "/";
  job.launch.output = "/dev/null";
  return body;
}

class Drill {
 public:
  Drill(const Invocation& call, std::string victim, int pid)
      : caller_(call), call_(call), pid_(pid) {
    reply_.victim = std::move(victim);
  }

  Result<DrillReply> run() {
    for (int i = 0; i < kProbes; ++i) {
      if (i == kProbesBeforeKill) {
        if (const auto killed = kill_as_root(pid_); !killed) return killed.error();
        if (const auto begun = start_again(); !begun) return begun.error();
      }
      if (const auto sent = send_probe(); !sent) return sent.error();
      std::this_thread::sleep_for(kProbeEvery);
    }
    wait_for_ends();
    count_accounts();
    return reply_;
  }

 private:
  Result<void> send_probe() {
    const auto begin = Steady::now();
    auto made = caller_.ask<ChangeReply>(Verb::kSubmit, probe(), new_request_id());
    if (!made) return made.error();
    reply_.late_ms = std::max(reply_.late_ms, ms_since(begin));
    ++reply_.acknowledged;
    if (made->jobs.size() != 1) ++reply_.repeated;
    for (const JobId job : made->jobs) jobs_[job] = false;
    return {};
  }

  // What stands after "--": how to start the daemon again when nobody else does.
  Result<void> start_again() {
    if (call_.words.rest.empty()) return {};
    std::vector<std::string> words = call_.words.rest;
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const uid_t user = geteuid();
    if (getuid() == 0 && seteuid(0) != 0)
      return fail(ErrorCode::kUnavailable, "drill: cannot be root");
    pid_t child = 0;
    const int problem =
        posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ);
    if (getuid() == 0 && seteuid(user) != 0) _exit(1);
    if (problem == 0) return {};
    return fail(ErrorCode::kUnavailable,
                "drill: cannot run " + words[0] + ": " + std::strerror(problem));
  }

  void wait_for_ends() {
    const auto deadline = Steady::now() + kPatience;
    std::size_t open = jobs_.size();
    while (open > 0 && Steady::now() < deadline) {
      for (auto& [job, ended] : jobs_) {
        if (!ended && has_ended(job)) {
          ended = true;
          --open;
        }
      }
      if (open > 0) std::this_thread::sleep_for(kLookEvery);
    }
    reply_.lost = static_cast<std::uint32_t>(open);
  }

  bool has_ended(JobId job) {
    JobBody body;
    body.job.job = job;
    const auto found = caller_.ask<JobReply>(Verb::kJob, body);
    if (!found || found->row.state != JobState::kEnded) return false;
    if (found->row.attempt.value > 1) ++reply_.repeated;
    return true;
  }

  // The feed may need a moment more than the jobs.
  void count_accounts() {
    AccountingFilter filter;
    for (const auto& [job, ended] : jobs_) filter.jobs.push_back(job);
    const auto deadline = Steady::now() + kPatience;
    do {
      const auto accounts = caller_.ask<AccountingReply>(Verb::kAccounting, filter);
      if (!accounts && accounts.error().code != ErrorCode::kUnavailable) return;
      if (accounts) {
        std::map<JobId, std::uint32_t> rows;
        for (const AccountingRow& row : accounts->rows)
          rows[row.job] += row.state == "ended" ? 1U : 0U;
        reply_.unbilled = 0;
        for (const auto& [job, ended] : jobs_) reply_.unbilled += rows[job] == 1 ? 0U : 1U;
        reply_.accounts_checked = true;
        if (reply_.unbilled == 0) return;
      }
      std::this_thread::sleep_for(kLookEvery);
    } while (Steady::now() < deadline);
  }

  Caller caller_;
  const Invocation& call_;
  int pid_;
  std::map<JobId, bool> jobs_;  // Whether it has been seen to have ended.
  DrillReply reply_;
};

Result<int> parse_pid(std::string_view text) {
  int pid = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || pid <= 1) {
    return fail(ErrorCode::kInvalid, "drill: give the process to kill with --pid NUMBER");
  }
  return pid;
}

std::string sentence(const DrillReply& reply) {
  std::string text = reply.victim + " killed: " + std::to_string(reply.acknowledged) +
                     " jobs acknowledged, " + std::to_string(reply.lost) + " lost, " +
                     std::to_string(reply.repeated) + " repeated, ";
  text += reply.accounts_checked ? std::to_string(reply.unbilled) + " not billed exactly once, "
                                 : "accounts not checked (there is no database), ";
  return text + "late by at most " + std::to_string(reply.late_ms) + " ms\n";
}

}  // namespace

int drill(const Invocation& call, std::string_view, std::span<const std::string> words) {
  if (words.size() != 1 || (words[0] != "controller" && words[0] != "worker" && words[0] != "db")) {
    return fail_usage(call, "drill: what to kill? controller, worker or db");
  }
  const auto pid = parse_pid(call.options().text("pid"));
  if (!pid) return fail_usage(call, pid.error().message);
  const std::string user(call.options().text("user"));
  if (!user.empty()) {
    if (const auto acting = act_as(user); !acting) return fail_command(call, acting.error());
  }
  const auto reply = Drill(call, words[0], *pid).run();
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : sentence(*reply));
  const bool is_clean = reply->lost == 0 && reply->repeated == 0 && reply->unbilled == 0;
  return is_clean ? kExitOk : kExitFailed;
}

}  // namespace muster
