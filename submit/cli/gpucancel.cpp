// gpucancel: ends jobs, or sends them a signal.
#include <array>

#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/job_list.h"
#include "submit/cli/selection.h"

namespace muster {
namespace {

constexpr std::array kOptions{
    Option{.name = "signal",
           .letter = 's',
           .value = "SIGNAL",
           .kind = ValueKind::kText,
           .help = "send this signal to the processes and leave the job be: TERM, USR1, 10",
           .example = "USR1"},
    kSelectName,
    kSelectUser,
    kSelectQueue,
    kSelectAll,
};

constexpr Command kCommand{
    .name = "gpucancel",
    .summary = "end jobs, or send them a signal",
    .synopsis =
        "gpucancel [options] JOB…\ngpucancel [options] --name NAME\ngpucancel [options] --all",
    .options = kOptions,
    .notes =
        "A JOB is 17, 17_3 (an element of an array) or 17_[0-9]. Processes get SIGTERM, and "
        "SIGKILL when the\n"
        "queue's waiting time is over. Several choices together mean jobs that fit all of them.",
    .examples =
        "gpucancel 17 18_3             # a job, and one element of another\n"
        "gpucancel --name sweep        # your jobs of that name\n"
        "gpucancel --signal USR1 17    # ask it to write a checkpoint, say",
};

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  auto body = selection_of(call, call.words.operands);
  if (!body) return fail_usage(call, body.error().message);
  if (call.options().has("signal")) {
    auto signal = parse_signal(call.options().text("signal"));
    if (!signal) return fail_usage(call, "--signal: " + signal.error().message);
    body->signal = *signal;
  }
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(Verb::kCancel, *body);
  if (!reply) return fail_selection(call, caller, *body, reply.error());
  print_change(call, *reply, body->signal == 0 ? "Cancelled" : "Signalled");
  return kExitOk;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
