// gpusubmit: a script or a command becomes a job.
#include "base/message/json.h"
#include "base/types/text.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/job_print.h"
#include "submit/cli/submit_input.h"
#include "submit/cli/submit_wait.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"
#include "submit/script/build_job.h"
#include "submit/script/environment.h"
#include "submit/script/script_text.h"

namespace muster {
namespace {

constexpr std::string_view kSynopsis =
    "gpusubmit [options] SCRIPT [arguments]\n"
    "gpusubmit [options] -- COMMAND [arguments]";
constexpr std::string_view kNotes =
    "Options may also stand in the script, in lines at its top that begin with #GPU:\n"
    "\n"
    "  #!/bin/bash\n"
    "  #GPU --nodes 2 --gpus-per-node 4 --time 2h\n"
    "\n"
    "The command line beats the script. SCRIPT may be - for standard input. In file names %j is "
    "the job, %A the\n"
    "array's job, %a the index, %x the name, %u the user, %N the node, %n its number, %t the "
    "rank, %r the attempt.\n"
    "With --launch torchrun, words behind -- go to torchrun after those that we give it: options "
    "of its, then the\n"
    "program. They win over ours.";
constexpr std::string_view kExamples =
    "gpusubmit --gpus 1 --time 30m train.sh            # one GPU\n"
    "gpusubmit --nodes 2 --gpus-per-node 4 --launch tasks train.sh   # 8 ranks, MASTER_ADDR and "
    "RANK set\n"
    "gpusubmit --nodes 2 --gpus-per-node 4 --launch torchrun -- -r 1 -t 1 train.py --lr 0.1\n"
    "gpusubmit --array 0-99%8 sweep.sh                 # 100 runs, 8 at a time\n"
    "gpusubmit --dependency afterok:17 report.sh       # once job 17 has completed\n"
    "gpusubmit --begin 22:00 --deadline tomorrow sweep.sh\n"
    "gpusubmit --wait -- nvidia-smi                    # a command; exit as it did";
constexpr std::string_view kExitStatus =
    "with --wait: the job's own exit status; 128 + N when signal N ended it; 1 when it ended "
    "otherwise";

Command describe() {
  Command command;
  command.name = "gpusubmit";
  command.summary = "submit a job";
  command.synopsis = kSynopsis;
  command.options = job_options();
  command.operands = Operands::kFirst;
  command.notes = kNotes;
  command.examples = kExamples;
  command.exit_status = kExitStatus;
  return command;
}

struct Submission {
  SubmitBody body;
  std::vector<std::string> warnings;  // Of the script: they may explain a refusal.
  std::vector<std::string> launch_warnings;
};

// Reads the script; its options come before those of the command line.
Result<Arguments> take_script(const Invocation& call, JobContext& context, Submission& out) {
  const std::string& path = call.words.operands.front();
  auto text = read_script(path);
  if (!text) return text.error();
  const std::string shown = path == "-" ? "standard input" : escape_for_terminal(path);
  auto script = parse_script(shown, *text);
  if (!script) return script.error();
  context.script_name = path == "-" ? "stdin" : path;
  context.has_interpreter = script->has_interpreter;
  context.argv.assign(call.words.operands.begin() + 1, call.words.operands.end());
  out.warnings = std::move(script->warnings);
  out.body.scripts.push_back(*std::move(text));
  return std::move(script->options);
}

// For errors that do not name their place.
Error here(const Error& error) { return fail(error.code, "gpusubmit: " + error.message); }

Result<Submission> prepare(const Invocation& call) {
  Submission submission;
  JobContext context;
  context.cwd = current_directory();
  if (context.cwd.empty() && !call.options().text("chdir").starts_with("/")) {
    return fail(ErrorCode::kInvalid,
                "the current directory has gone; cd to another, or give --chdir");
  }
  context.umask_bits = current_umask();
  context.now = wall_now();
  Arguments options;
  if (call.words.has_rest) {
    context.is_command = true;
    context.argv = call.words.rest;
  } else {
    auto from_script = take_script(call, context, submission);
    if (!from_script) return from_script.error();
    options = *std::move(from_script);
  }
  options.add(call.options());
  auto job = build_job(options, context);
  if (!job) return job.error();
  if (auto fine = check_directories(job->launch); !fine) return here(fine.error());
  auto rule = parse_export(options.text("export", "ALL"));
  MUSTER_ASSERT(rule.ok());
  auto environment = build_environment(own_environment(), *rule, options.all("env"));
  if (!environment) return here(environment.error());
  submission.body.environments.push_back(*std::move(environment));
  submission.body.dry_run = options.has("dry-run");
  const bool has_script = !submission.body.scripts.empty();
  submission.body.jobs.push_back(
      {std::move(job->spec), std::move(job->launch), has_script ? 1U : 0U, 1});
  submission.launch_warnings = std::move(job->warnings);
  return submission;
}

std::string trial_text(const TrialReply& trial) {
  std::string text;
  if (trial.fits_now)
    text = "It would start now.\n";
  else if (trial.start_p50.us == 0)
    text = "No start is in sight: what it waits for has no known end.\n";
  else
    text = "It would start " + start_text(trial.start_p50, trial.start_p90) + ".\n";
  for (const SoonerRow& row : trial.sooner)
    text += "  sooner with " + row.options + ": " + start_text(row.start_p50, row.start_p90) + "\n";
  return text;
}

void print_reply(const Invocation& call, const Submission& submission, const ChangeReply& reply) {
  for (const std::string& note : reply.notes) print_note(call, note);
  if (call.json) {
    print(to_json(reply) + "\n");
  } else if (submission.body.dry_run) {
    print("Fine, and not submitted. It would ask for\n" +
          groups_text(submission.body.jobs.front().spec));
    if (reply.trial) print(trial_text(*reply.trial));
  } else if (!reply.jobs.empty()) {
    const std::string job = std::to_string(reply.jobs.front().value);
    print(call.options().has("parsable") ? job + "\n" : "Submitted job " + job + "\n");
  }
}

int run(const Invocation& call) {
  if (call.words.operands.empty() && (!call.words.has_rest || call.words.rest.empty())) {
    return fail_usage(call,
                      "no script or command; for example gpusubmit --gpus 1 train.sh, or gpusubmit "
                      "-- nvidia-smi");
  }
  if (call.options().has("wait") && call.options().has("dry-run")) {
    return fail_usage(call, "--wait and --dry-run together; leave one out");
  }
  auto submission = prepare(call);
  if (!submission) return fail_input(submission.error());
  for (const std::string& warning : submission->warnings) print_error(warning);
  std::optional<Uuid> request_id;
  if (call.options().has("request-id")) request_id = *parse_uuid(call.options().text("request-id"));
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(Verb::kSubmit, submission->body, request_id);
  if (!reply) return fail_command(call, reply.error());
  for (const std::string& warning : submission->launch_warnings) print_error(warning);
  print_reply(call, *submission, *reply);
  if (!call.options().has("wait") || reply->jobs.empty()) return kExitOk;
  return wait_for_job(call, caller, reply->jobs.front());
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const muster::Command command = muster::describe();
  return muster::run_command(command, MUSTER_VERSION, {argv, static_cast<std::size_t>(argc)},
                             muster::run);
}
