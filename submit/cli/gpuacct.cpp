// gpuacct: what jobs used and cost, from the accounting database.
#include <array>

#include "base/message/accounting.h"
#include "base/message/json.h"
#include "base/types/size.h"
#include "submit/cli/acct_print.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/job_list.h"
#include "submit/cli/selection.h"
#include "submit/cli/terminal.h"
#include "submit/cli/user.h"
#include "submit/cli/when.h"
#include "submit/script/value.h"

namespace muster {
namespace {

using K = ValueKind;
constexpr std::array kOptions{
    Option{.name = "all", .letter = 'a', .help = "everybody's jobs (default: yours)"},
    Option{.name = "user",
           .letter = 'u',
           .value = "USER,…",
           .kind = K::kNames,
           .help = "jobs of these users",
           .example = "kim"},
    Option{.name = "account",
           .value = "ACCOUNT,…",
           .kind = K::kNames,
           .help = "jobs charged to these accounts",
           .example = "vision"},
    Option{.name = "queue",
           .value = "QUEUE,…",
           .kind = K::kNames,
           .help = "jobs of these queues",
           .example = "batch"},
    Option{.name = "qos",
           .value = "QOS,…",
           .kind = K::kNames,
           .help = "jobs with one of these QOS",
           .example = "high"},
    Option{.name = "state",
           .value = "WORD,…",
           .kind = K::kNames,
           .help = "pending, active, ended, or how they ended: completed, exited, timed-out, …",
           .example = "ended"},
    Option{.name = "since",
           .value = "TIME",
           .kind = K::kText,
           .help = "jobs that were there after: 2026-11-30, 2026-11-30T18:07, today, yesterday, 7d "
                   "(ago); default 7d",
           .example = "2026-11-01"},
    Option{.name = "until",
           .value = "TIME",
           .kind = K::kText,
           .help = "and before (default: now)",
           .example = "2026-12-01"},
    Option{.name = "limit",
           .value = "N",
           .kind = K::kCount,
           .help = "rows at most, the newest (default 1000)",
           .example = "50",
           .max = kAccountingRowsMax},
};

constexpr Command kCommand{
    .name = "gpuacct",
    .summary = "show what jobs used and cost",
    .synopsis = "gpuacct [options]\ngpuacct [options] JOB…",
    .options = kOptions,
    .notes =
        "With JOBs the time does not matter unless --since or --until is given. Times of GPUs and "
        "CPUs are in\n"
        "seconds; of jobs that still run, up to now.",
    .examples =
        "gpuacct                           # yours, the last seven days\n"
        "gpuacct 17                        # one job\n"
        "gpuacct --all --since 2026-11-01 --until 2026-12-01 --json",
};

void add_words(const Arguments& options, std::string_view name, std::vector<std::string>& out) {
  if (!options.has(name)) return;
  for (const std::string_view word : split_text(options.text(name), ',')) out.emplace_back(word);
}

Result<AccountingFilter> filter_of(const Invocation& call) {
  const Arguments& options = call.options();
  AccountingFilter filter;
  auto jobs = parse_jobs(call.words.operands);
  if (!jobs) return jobs.error();
  for (const JobChoice& job : *jobs) {
    if (job.element)
      return fail(ErrorCode::kInvalid,
                  to_text(job) + ": give the job's number; all elements are shown");
    filter.jobs.push_back(job.job);
  }
  add_words(options, "user", filter.users);
  if (filter.users.empty() && filter.jobs.empty() && !options.has("all"))
    filter.users.push_back(own_user_name());
  add_words(options, "account", filter.accounts);
  add_words(options, "queue", filter.queues);
  add_words(options, "qos", filter.qos);
  add_words(options, "state", filter.states);
  const WallTime now = wall_now();
  const std::string_view since = options.text("since", filter.jobs.empty() ? "7d" : "");
  if (!since.empty()) {
    auto at = parse_when(since, now);
    if (!at) return fail(ErrorCode::kInvalid, "--since: " + at.error().message);
    filter.since = *at;
  }
  if (options.has("until")) {
    auto at = parse_when(options.text("until"), now);
    if (!at) return fail(ErrorCode::kInvalid, "--until: " + at.error().message);
    filter.until = *at;
    if (filter.until <= filter.since)
      return fail(ErrorCode::kInvalid, "--until is not after --since");
  }
  if (options.has("limit")) {
    filter.limit =
        static_cast<std::uint32_t>(*parse_count(options.text("limit"), 1, kAccountingRowsMax));
  }
  return filter;
}

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  auto filter = filter_of(call);
  if (!filter) return fail_usage(call, filter.error().message);
  Caller caller(call);
  auto reply = caller.ask<AccountingReply>(Verb::kAccounting, *filter);
  if (!reply) return fail_command(call, reply.error());
  if (reply->rows.empty()) {
    if (auto known = users_must_exist(filter->users); !known)
      return fail_command(call, known.error());
    if (auto known = queues_must_exist(caller, filter->queues); !known)
      return fail_command(call, known.error());
  }
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  print(accounting_table(reply->rows, describe_stdout()));
  if (reply->rows.size() == filter->limit) {
    print_note(call, "only the newest " + std::to_string(filter->limit) + " rows; see --limit");
  }
  return kExitOk;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
