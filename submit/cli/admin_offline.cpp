// What gpuadmin leaves to the controller's own program: journal, audit file, configuration, schema.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "submit/cli/admin.h"
#include "submit/client/client.h"

namespace muster {

namespace {

constexpr Duration kAnswerWait = seconds(5);

struct OfflineVerb {
  std::string_view words;
  const char* flag;
  std::string_view operand;  // What it needs: DIR, FILE, or both; empty: --config.
  bool asks_controller = false;
};
constexpr std::array kOfflineVerbs{
    OfflineVerb{"journal cat", "--journal-cat", "DIR"},
    OfflineVerb{"journal verify", "--journal-verify", "DIR"},
    OfflineVerb{"state dump", "--state-dump", "DIR FILE", true},
    OfflineVerb{"audit verify", "--audit-verify", "FILE"},
    OfflineVerb{"config check", "--check-config", "FILE"},
    OfflineVerb{"db migrate", "--migrate", ""},
};

std::string own_directory() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  if (size <= 0) return "";
  const std::string_view whole(path, static_cast<std::size_t>(size));
  return std::string(whole.substr(0, whole.rfind('/')));
}

// Beside this command, or in the sbin beside its bin. Never searched for along PATH: this may run
// as root.
std::string find_controller() {
  const std::string here = own_directory();
  for (const std::string& path :
       {here + "/muster-controller", here + "/../sbin/muster-controller"}) {
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

// The record from which on the controller that runs decides as its dump. Empty: none answers, and
// the dump is what one that starts there would decide by.
std::string record_for_dump(const Invocation& call) {
  ClientSettings settings;
  if (!call.gateway.empty()) settings.gateway = call.gateway;
  settings.timeout = std::min(call.timeout, kAnswerWait);
  const Result<Response> answer = Client(settings).call(Verb::kStateDump, {});
  if (answer) return std::to_string(answer->seq.value);
  print_note(call, "the dump decides as a controller that is started now, not as one that runs: " +
                       answer.error().message);
  return "";
}

}  // namespace

int run_offline(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  const OfflineVerb* found = nullptr;
  for (const OfflineVerb& each : kOfflineVerbs) {
    if (each.words == verb) found = &each;
  }
  MUSTER_ASSERT(found != nullptr);
  const std::string shown(verb);
  const std::size_t expected = found->operand.empty() ? 0 : found->operand == "DIR FILE" ? 2 : 1;
  if (words.size() != expected) {
    return fail_usage(call, shown + (expected != 0 ? ": give one " + std::string(found->operand)
                                                   : ": takes no words; give --config FILE"));
  }
  std::string operand = expected != 0 ? words[0] : std::string(call.options().text("config"));
  if (operand.empty())
    return fail_usage(call, shown + ": give the controller's configuration with --config FILE");
  std::string program = find_controller();
  if (program.empty()) {
    return fail_command(
        call, fail(ErrorCode::kNotFound, shown + ": there is no muster-controller beside this "
                                                 "command; run it on the controller's host"));
  }
  std::string flag = found->flag;
  std::string config_flag = "--config";
  std::vector<char*> arguments{program.data(), flag.data()};
  if (expected == 0) arguments.push_back(config_flag.data());
  arguments.push_back(operand.data());
  std::string second = expected == 2 ? words[1] : std::string();
  if (expected == 2) arguments.push_back(second.data());
  std::string until_flag = "--until";
  std::string until = found->asks_controller ? record_for_dump(call) : std::string();
  if (!until.empty()) arguments.insert(arguments.end(), {until_flag.data(), until.data()});
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  return fail_command(
      call, fail(ErrorCode::kUnavailable, "cannot run " + program + ": " + std::strerror(errno)));
}

}  // namespace muster
