// What a job waits for before it may start: other jobs, or elements of them. The text is Slurm's:
// "afterok:12:13,after:14+30,singleton".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

constexpr std::size_t kConditionsMax = 1000;
constexpr Duration kConditionDelayMax = days(3650);

enum class After : std::uint8_t {
  kStarted,    // All that is named runs or has ended, and has for `delay`.
  kOk,         // All of it completed.
  kNotOk,      // All of it has ended, and not all of it completed.
  kAny,        // All of it has ended.
  kCorr,       // Element by element: the other array's element of the same index completed.
  kSingleton,  // All earlier jobs of the same user and name have ended.
};
template <>
struct EnumNames<After> {
  static constexpr std::array<std::string_view, 6> kNames{"after",    "afterok",   "afternotok",
                                                          "afterany", "aftercorr", "singleton"};
};

struct Condition {
  After kind = After::kAny;
  JobId job;                       // 0 for kSingleton.
  std::optional<Element> element;  // Absent: the whole job.
  Duration delay;                  // For kStarted.
  auto operator<=>(const Condition&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "kind", self.kind);
    visit(2, "job", self.job);
    visit(3, "element", self.element);
    visit(4, "delay", self.delay);
  }
};

struct Depends {
  std::vector<Condition> conditions;
  bool any = false;           // One of them is enough; otherwise all are needed.
  bool kill_invalid = false;  // What can never hold ends the job; otherwise it stays and says so.
  auto operator<=>(const Depends&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "conditions", self.conditions);
    visit(2, "any", self.any);
    visit(3, "kill_invalid", self.kill_invalid);
  }
};

// Items KIND:JOB[:JOB…] or "singleton", with "," (all of them) or "?" (one is enough) between them,
// not both. JOB is 12 or 12_3; after:12+30 means 30 minutes after its start.
Result<Depends> parse_depends(std::string_view text);
std::string to_text(const Condition& condition);
std::string to_text(const Depends& depends);  // "" when there are no conditions.

}  // namespace muster
