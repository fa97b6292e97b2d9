// gpuqueue: what waits and runs, one job in full, why a job waits, and all of it live.
#include <array>
#include <optional>
#include <span>

#include "base/message/json.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/job_list.h"
#include "submit/cli/job_print.h"
#include "submit/cli/queue_watch.h"
#include "submit/cli/selection.h"
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
    Option{.name = "queue",
           .value = "QUEUE,…",
           .kind = K::kNames,
           .help = "jobs in these queues",
           .example = "batch"},
    Option{.name = "name",
           .value = "NAME",
           .kind = K::kJobName,
           .help = "jobs of this name; may be repeated",
           .example = "train",
           .repeats = true},
    Option{.name = "state",
           .value = "STATE,…",
           .kind = K::kNames,
           .help = "held, pending, starting, running, stopping, ended",
           .example = "pending,running"},
    Option{.name = "ended", .help = "also jobs that ended a short while ago; gpuacct has all"},
    Option{.name = "why",
           .value = "JOB",
           .kind = K::kText,
           .help = "why this job waits and when it may start, with numbers",
           .example = "17"},
    Option{.name = "priority", .letter = 'p', .help = "what the turns of pending jobs are made of"},
    Option{.name = "watch", .letter = 'w', .help = "stay and show changes; Ctrl-C ends it"},
};

constexpr Command kCommand{
    .name = "gpuqueue",
    .summary = "show jobs that wait and run",
    .synopsis =
        "gpuqueue [options]\ngpuqueue [options] JOB…\ngpuqueue --why JOB\ngpuqueue --priority "
        "[JOB…]",
    .options = kOptions,
    .notes =
        "A JOB is 17, 17_3 (an element of an array) or 17_[0-9]. With JOBs each is shown in full.\n"
        "--priority shows who comes first, first: by the queue's priority, then by points: the "
        "job's own\n"
        "priority, and for age, fair share and size a weight times a factor.",
    .examples =
        "gpuqueue                       # your jobs\n"
        "gpuqueue --all --state running # what runs on the cluster\n"
        "gpuqueue 17                    # one job in full\n"
        "gpuqueue --why 17              # why it waits and what would let it start\n"
        "gpuqueue --all --priority      # whose turn comes first, and why\n"
        "gpuqueue --watch               # live",
};

Result<JobsBody> filter_of(const Invocation& call) {
  const Arguments& options = call.options();
  JobsBody body;
  if (options.has("user")) {
    for (const std::string_view user : split_text(options.text("user"), ','))
      body.users.emplace_back(user);
  } else if (!options.has("all")) {
    body.users.push_back(own_user_name());
  }
  if (options.has("queue")) {
    for (const std::string_view queue : split_text(options.text("queue"), ','))
      body.queues.emplace_back(queue);
  }
  for (const std::string_view name : options.all("name")) body.names.emplace_back(name);
  if (options.has("state")) {
    for (const std::string_view word : split_text(options.text("state"), ',')) {
      JobState state{};
      if (!enum_from_name(word, state)) {
        return fail(ErrorCode::kInvalid,
                    "--state: \"" + std::string(word) +
                        "\" is not one of held pending starting running stopping ended");
      }
      body.states.push_back(state);
      body.include_ended = body.include_ended || state == JobState::kEnded;
    }
  }
  body.include_ended = body.include_ended || options.has("ended");
  return body;
}

// A list as text, from its pages: a table, or one JSON object.
class ListText {
 public:
  explicit ListText(bool json) : json_(json) { clear(); }

  void clear() {
    is_empty_ = true;
    table_.emplace(wall_now());
    text_.clear();
    writer_.emplace(text_);
    writer_->begin_object();
    writer_->key("rows");
    writer_->begin_array();
  }
  bool is_empty() const { return is_empty_; }
  void add(std::span<const JobRow> rows) {
    is_empty_ = is_empty_ && rows.empty();
    if (!json_) return table_->add(rows);
    for (const JobRow& row : rows) json::write(*writer_, row);
  }
  std::string finish() {
    if (!json_) return table_->render(describe_stdout());
    writer_->end_array();
    writer_->end_object();
    return text_ + "\n";
  }

 private:
  const bool json_;
  bool is_empty_ = true;
  std::optional<JobsTable> table_;
  std::string text_;
  std::optional<JsonWriter> writer_;
};

// False when the connection was lost half way, and with it what the pages had in common.
Result<bool> fill(Caller& caller, JobsBody body, ListText& text) {
  constexpr std::uint32_t kRowsPerRequest = 50000;
  body.rows_max = kRowsPerRequest;
  text.clear();
  while (true) {
    std::size_t rows = 0;
    unsigned beginnings = 0;
    auto ended = caller.list(body, [&](const JobsReply& page, bool first) {
      beginnings += first ? 1 : 0;
      rows += page.rows.size();
      if (beginnings > 1 || page.rows.empty()) return;
      body.after = page.rows.back().job;
      text.add(page.rows);
    });
    if (!ended) return ended.error();
    if (beginnings > 1) return false;
    if (rows < kRowsPerRequest) return true;
  }
}

int show_list(const Invocation& call, const JobsBody& body) {
  Caller caller(call);
  ListText text(call.json);
  while (true) {
    auto filled = fill(caller, body, text);
    if (!filled) return fail_command(call, filled.error());
    if (*filled) break;
  }
  if (text.is_empty()) {
    if (auto known = users_must_exist(body.users); !known) return fail_command(call, known.error());
    if (auto known = queues_must_exist(caller, body.queues); !known)
      return fail_command(call, known.error());
  }
  print(text.finish());
  return kExitOk;
}

// The sentence comes from the scheduler, which is asked only for a job that waits.
void add_why(Caller& caller, JobReply& job) {
  const bool waits = job.row.state == JobState::kPending || job.row.state == JobState::kHeld;
  if (!waits || !job.why.empty()) return;
  JobChoice choice{job.row.job, std::nullopt};
  if (job.row.is_array && job.row.elements.empty()) choice.element = job.row.element;
  auto why = caller.ask<WhyReply>(Verb::kWhy, JobBody{choice});
  if (why) job.why = why->sentence;
}

int show_jobs(const Invocation& call) {
  auto jobs = parse_jobs(call.words.operands);
  if (!jobs) return fail_usage(call, jobs.error().message);
  Caller caller(call);
  const Terminal terminal = describe_stdout();
  for (std::size_t i = 0; i < jobs->size(); ++i) {
    auto reply = caller.ask<JobReply>(Verb::kJob, JobBody{(*jobs)[i]});
    if (!reply) return fail_command(call, reply.error());
    add_why(caller, *reply);
    if (call.json) {
      print(to_json(*reply) + "\n");
    } else {
      print((i == 0 ? "" : "\n") + job_in_full(*reply, terminal, wall_now()));
    }
  }
  return kExitOk;
}

int show_why(const Invocation& call) {
  auto job = parse_job(call.options().text("why"));
  if (!job) return fail_usage(call, "--why: " + job.error().message);
  Caller caller(call);
  auto reply = caller.ask<WhyReply>(Verb::kWhy, JobBody{*job});
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : why_text(*reply, describe_stdout()));
  return kExitOk;
}

int show_turns(const Invocation& call, JobsBody which) {
  if (!call.words.operands.empty()) {
    auto jobs = parse_jobs(call.words.operands);
    if (!jobs) return fail_usage(call, jobs.error().message);
    which.jobs = *std::move(jobs);
    which.users.clear();
  }
  Caller caller(call);
  auto reply = caller.ask<TurnsReply>(Verb::kTurns, which);
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : turns_table(*reply, describe_stdout()));
  if (reply->rows_left_off != 0)
    print_note(call, std::to_string(reply->rows_left_off) + " jobs that come later are left out");
  return kExitOk;
}

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  if (call.options().has("why")) {
    if (!call.words.operands.empty())
      return fail_usage(call, "--why takes one job; leave the other words out");
    return show_why(call);
  }
  auto filter = filter_of(call);
  if (!filter) return fail_usage(call, filter.error().message);
  if (!call.words.operands.empty() && call.options().has("watch")) {
    auto jobs = parse_jobs(call.words.operands);
    if (!jobs) return fail_usage(call, jobs.error().message);
    filter->jobs = *std::move(jobs);
    filter->users.clear();
  }
  if (call.options().has("watch")) return watch_queue(call, *filter);
  if (call.options().has("priority")) return show_turns(call, *filter);
  if (!call.words.operands.empty()) return show_jobs(call);
  return show_list(call, *filter);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
