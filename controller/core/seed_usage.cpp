// Checks all lines first: either every one is taken or none.
#include "controller/core/seed_usage.h"

#include <set>

#include "base/types/text.h"
#include "base/types/usage_limits.h"
#include "controller/core/decide/known.h"

namespace muster {
namespace {

constexpr std::uint64_t kAmountOfGpuSecond = 1'000'000;  // Milli-GPU × milliseconds.

Error no_account(const Cluster& cluster, const std::string& name) {
  std::vector<std::string_view> known;
  for (const AccountConfig& account : cluster.config().accounts) known.push_back(account.name);
  return fail(ErrorCode::kNotFound,
              "there is no account " + escape_for_terminal(name) +
                  suggestion_or(name, known, "gpuadmin account list shows them"));
}

}  // namespace

void set_usage(Step& step, const SetUsage& command) {
  if (command.who.role != Role::kAdmin) {
    return step.refuse(fail(ErrorCode::kConflict, "only an administrator may set usage"));
  }
  UsageSet made;
  made.by = name_of_requester(command.who);
  std::set<UsageKey> seen;
  for (const UsedBefore& used : command.lines) {
    if (step.cluster().find_account(used.key.account) == nullptr)
      return step.refuse(no_account(step.cluster(), used.key.account));
    if (used.gpu_seconds > kGpuSecondsSetMax) {
      return step.refuse(fail(ErrorCode::kInvalid, "at most " + std::to_string(kGpuSecondsSetMax) +
                                                       " GPU-seconds can be set"));
    }
    if (!seen.insert(used.key).second) {
      return step.refuse(
          fail(ErrorCode::kInvalid, "account " + escape_for_terminal(used.key.account) + ", uid " +
                                        std::to_string(used.key.uid.value) + ": given twice"));
    }
    made.lines.push_back(
        UsageSetLine{used.key.account, used.key.uid, used.gpu_seconds * kAmountOfGpuSecond});
  }
  if (made.lines.empty()) return step.refuse(fail(ErrorCode::kInvalid, "no usage was given"));
  step.emit(std::move(made));
  step.want_pass();
}

}  // namespace muster
