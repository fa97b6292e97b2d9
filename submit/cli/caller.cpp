// Options of the command line become options of the client.
#include "submit/cli/caller.h"

#include "submit/cli/terminal.h"

namespace muster {

namespace {

ClientSettings options_of(const Invocation& call) {
  ClientSettings options;
  if (!call.gateway.empty()) options.gateway = call.gateway;
  options.timeout = call.timeout;
  const std::string name(call.command->name);
  options.on_waiting = [name](const std::string& line) { print_error(name + ": " + line); };
  return options;
}

}  // namespace

Caller::Caller(const Invocation& call) : client_(options_of(call)) {}

Result<void> Caller::list(JobsBody body,
                          const std::function<void(const JobsReply&, bool first)>& on_page) {
  body.pages = true;
  Result<void> outcome;
  auto ended = client_.stream(Verb::kJobs, encode(body), [&](const Response& response, bool first) {
    auto reply = decode<JobsReply>(response.body);
    if (!reply) {
      outcome = reply.error();
      return false;
    }
    on_page(*reply, first);
    return true;
  });
  return outcome.ok() ? ended : outcome;
}

Result<void> Caller::watch(const JobsBody& body,
                           const std::function<bool(const WatchReply&, bool first)>& on_reply) {
  Result<void> outcome;
  auto ended =
      client_.stream(Verb::kWatch, encode(body), [&](const Response& response, bool first) {
        auto reply = decode<WatchReply>(response.body);
        if (!reply) {
          outcome = reply.error();
          return false;
        }
        return on_reply(*reply, first);
      });
  return outcome.ok() ? ended : outcome;
}

}  // namespace muster
