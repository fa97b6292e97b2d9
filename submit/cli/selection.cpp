// Choosing jobs, and saying what was done to them.
#include "submit/cli/selection.h"

#include <algorithm>

#include "base/message/cluster_request.h"
#include "base/message/json.h"
#include "base/types/text.h"
#include "submit/cli/job_list.h"
#include "submit/cli/terminal.h"
#include "submit/cli/user.h"
#include "submit/script/value.h"

namespace muster {

Result<SelectBody> selection_of(const Invocation& call, std::span<const std::string> words) {
  const Arguments& options = call.options();
  SelectBody body;
  auto jobs = parse_jobs(words);
  if (!jobs) return jobs.error();
  body.jobs = *std::move(jobs);
  for (const std::string_view name : options.all("name")) body.names.emplace_back(name);
  if (options.has("user")) {
    for (const std::string_view user : split_text(options.text("user"), ','))
      body.users.emplace_back(user);
  }
  if (options.has("queue")) {
    for (const std::string_view queue : split_text(options.text("queue"), ','))
      body.queues.emplace_back(queue);
  }
  body.all_mine = options.has("all");
  if (body.jobs.empty() && body.names.empty() && body.users.empty() && body.queues.empty() &&
      !body.all_mine) {
    return fail(ErrorCode::kInvalid,
                "which jobs? Give their numbers, or --name, --user, --queue or --all");
  }
  return body;
}

Result<void> queues_must_exist(Caller& caller, std::span<const std::string> names) {
  if (names.empty()) return {};
  auto reply = caller.ask<QueuesReply>(Verb::kQueues, NoBody{});
  if (!reply) return reply.error();
  std::vector<std::string_view> known;
  for (const QueueRow& row : reply->rows) known.emplace_back(row.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view near = nearest_match(name, known);
    return fail(ErrorCode::kNotFound,
                "--queue: there is no queue " + escape_for_terminal(name) + "; " +
                    (near.empty() ? "see them with: gpuadmin queue list"
                                  : "did you mean " + escape_for_terminal(near) + "?"));
  }
  return {};
}

int fail_selection(const Invocation& call, Caller& caller, const SelectBody& body,
                   const Error& error) {
  if (error.code == ErrorCode::kNotFound) {
    if (auto known = users_must_exist(body.users); !known) return fail_command(call, known.error());
    if (auto known = queues_must_exist(caller, body.queues); !known)
      return fail_command(call, known.error());
  }
  return fail_command(call, error);
}

void print_change(const Invocation& call, const ChangeReply& reply, std::string_view done) {
  if (call.json) {
    print(to_json(reply) + "\n");
    return;
  }
  std::string text;
  for (const JobId job : reply.jobs)
    text += std::string(done) + " job " + std::to_string(job.value) + "\n";
  print(text);
  for (const std::string& note : reply.notes) print_note(call, note);
  if (reply.jobs.empty() && reply.notes.empty())
    print_note(call, "no job fits; nothing was changed");
}

}  // namespace muster
