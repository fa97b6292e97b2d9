// gpulogs: what a job wrote, from the node it ran on; no shared file system is needed.
#include <array>

#include "base/message/json.h"
#include "base/types/size.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/job_list.h"
#include "submit/cli/log_file.h"
#include "submit/cli/log_reader.h"
#include "submit/cli/terminal.h"

namespace muster {
namespace {

using K = ValueKind;
constexpr std::array kOptions{
    Option{.name = "follow",
           .letter = 'f',
           .help = "stay and show what is written until the job has ended"},
    Option{.name = "rank",
           .letter = 'r',
           .value = "N",
           .kind = K::kCount,
           .help = "the output of this rank (default: the first node's file)",
           .example = "3",
           .min = 0,
           .max = 10000000},
    Option{.name = "node",
           .value = "NODE",
           .kind = K::kName,
           .help = "this node's file",
           .example = "n2"},
    Option{.name = "attempt",
           .value = "N",
           .kind = K::kCount,
           .help = "of this attempt (default: the last)",
           .example = "1",
           .max = 1000000},
    Option{.name = "error",
           .letter = 'e',
           .help = "standard error, where --error gave it a file of its own"},
};

constexpr Command kCommand{
    .name = "gpulogs",
    .summary = "show what a job wrote",
    .synopsis = "gpulogs [options] JOB",
    .options = kOptions,
    .notes =
        "A JOB is 17, or 17_3 for an element of an array. Bytes are printed as the job wrote them. "
        "With\n"
        "--json the place of the file is printed instead. Of a job that has ended the file itself "
        "is read,\n"
        "so it must be seen from this host. What no file of yours has its nodes keep for a day.",
    .examples =
        "gpulogs 17                    # all of it\n"
        "gpulogs -f 17                 # and go on until the job has ended\n"
        "gpulogs --rank 5 17           # what rank 5 wrote",
};

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  if (call.words.operands.size() != 1)
    return fail_usage(call, "of which job? For example gpulogs 17");
  auto job = parse_job(call.words.operands.front());
  if (!job) return fail_usage(call, job.error().message);
  const Arguments& options = call.options();
  LogOpenBody body;
  body.job = *job;
  body.errors = options.has("error");
  body.node = options.text("node");
  if (options.has("rank"))
    body.rank = static_cast<std::int32_t>(*parse_count(options.text("rank"), 0, 10000000));
  if (options.has("attempt")) {
    body.attempt = static_cast<std::uint32_t>(*parse_count(options.text("attempt"), 1, 1000000));
  }
  if (!body.node.empty() && body.rank >= 0)
    return fail_usage(call, "--rank and --node together; leave one out");
  Caller caller(call);
  if (call.json) {
    auto place = caller.ask<LogOpenReply>(Verb::kLogOpen, body);
    if (!place) return fail_command(call, place.error());
    caller.tell(Verb::kLogClose, LogCloseBody{place->handle});
    print(to_json(*place) + "\n");
    return kExitOk;
  }
  auto done = read_log(call, caller, body, options.has("follow"));
  if (!done && done.error().code == ErrorCode::kNotFound) {
    done = print_log_file(call, caller, body, done.error());
  }
  return done ? kExitOk : fail_command(call, done.error());
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
