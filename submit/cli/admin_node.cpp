// gpuadmin node …
#include "base/message/json.h"
#include "base/types/hostlist.h"
#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"

namespace muster {

namespace {

struct NodeVerbText {
  std::string_view words;
  Verb verb;
  std::string_view done;
};
constexpr NodeVerbText kNodeVerbs[] = {
    {"node drain", Verb::kNodeDrain, "Draining"},
    {"node resume", Verb::kNodeResume, "Resumed"},
    {"node remove", Verb::kNodeRemove, "Removed"},
    {"node confirm-dead", Verb::kNodeConfirmDead, "Taken for dead"},
};

}  // namespace

int node_add(const Invocation& call, std::string_view, std::span<const std::string> words) {
  if (words.size() != 1)
    return fail_usage(call, "node add: which node? For example gpuadmin node add n3");
  if (auto fine = check_name(words[0]); !fine)
    return fail_usage(call, "node add: " + fine.error().message);
  NodeAddBody body;
  body.node = words[0];
  body.public_key = call.options().text("key");
  Caller caller(call);
  auto reply = caller.ask<NodeAddReply>(Verb::kNodeAdd, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
  } else if (reply->command.empty()) {
    print("Node " + body.node + " may join with its key\n");
  } else {
    print("On " + body.node + ", within " + to_text(seconds(reply->valid_seconds)) +
          ", type\n\n  " + escape_for_terminal(reply->command) +
          "\n\nand give it this token when it asks:\n\n  " + escape_for_terminal(reply->token) +
          "\n");
  }
  return kExitOk;
}

int node_change(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  const std::string shown(verb);
  if (words.empty())
    return fail_usage(call, shown + ": which nodes? For example gpuadmin " + shown + " n[1-2]");
  const NodeVerbText* found = nullptr;
  for (const NodeVerbText& each : kNodeVerbs) {
    if (each.words == verb) found = &each;
  }
  MUSTER_ASSERT(found != nullptr);
  NodeChangeBody body;
  for (const std::string& word : words) {
    auto names = parse_hostlist(word);
    if (!names) return fail_usage(call, shown + ": " + names.error().message);
    body.nodes.insert(body.nodes.end(), names->begin(), names->end());
  }
  body.reason = call.options().text("reason");
  if (body.reason.empty() && found->verb != Verb::kNodeResume) {
    return fail_usage(call, shown + ": say why with --reason TEXT; it is shown to users and kept");
  }
  if (call.options().has("deadline")) {
    if (found->verb != Verb::kNodeDrain)
      return fail_usage(call, shown + ": --deadline is for node drain and node roll");
    auto deadline = parse_when_ahead(call.options().text("deadline"), wall_now());
    if (!deadline) return fail_usage(call, "--deadline: " + deadline.error().message);
    body.deadline = *deadline;
  }
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(found->verb, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  print(std::string(found->done) + " " + compress_hostlist(body.nodes) + "\n");
  for (const std::string& note : reply->notes) print_note(call, note);
  return kExitOk;
}

}  // namespace muster
