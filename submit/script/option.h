// Options as data: one table serves the command line, the `#GPU` lines of a script, --help and the
// tests of the manual pages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

enum class ValueKind : std::uint8_t {
  kFlag,         // No value.
  kText,         // One printable line.
  kCount,        // A whole number in [min, max].
  kInteger,      // A whole number in [-max, max].
  kMemory,       // "16G".
  kMemoryOrAll,  // "16G"; "0" is all of it.
  kRange,        // "2", or "2-8"; up to max.
  kGpus,         // A count in [min, max], or a share of one: "0.5", "500m".
  kShare,        // "0.5", "500m".
  kWish,         // Features.
  kOptions,      // Options as on a command line.
  kTopology,     // "switch!", "switches=2", …
  kLicences,     // "matlab:2,foo".
  kDuration,     // "2h"; a bare number is minutes.
  kSeconds,      // "2h"; a bare number is seconds: how long a command itself waits.
  kName,         // Queues, accounts, nodes.
  kNames,        // Several, with commas between them.
  kHosts,        // A host list.
  kJobName,
  kPath,
  kPattern,  // A path with %j and the like.
  kChoice,   // One of the words of `value`, which has "|" between them.
  kArray,
  kExport,    // ALL, NONE or a list.
  kVariable,  // NAME=VALUE.
  kUuid,
  kDepends,  // "afterok:12:13".
  kWhen,     // A time to come.
};

struct Option {
  std::string_view name;        // Without dashes.
  char letter = '\0';           // "-f"; 0: none.
  std::string_view value = {};  // What --help shows for it; empty for a flag.
  ValueKind kind = ValueKind::kFlag;
  std::string_view help = {};
  std::string_view example = {};  // A value that works, for error messages.
  bool in_script = false;         // May stand in a #GPU line.
  bool in_group = false;          // May stand in the value of --group.
  bool repeats = false;           // Every one counts; otherwise the last wins.
  std::uint64_t min = 1;          // Of a kCount.
  std::uint64_t max = 0;          // Of a kCount or kInteger.
};

// The options of gpusubmit, in the order of --help.
std::span<const Option> job_options();

// Whether text is a value for this option. The error names neither the option nor the place:
// bad_value() adds them.
Result<void> check_value(const Option& option, std::string_view text);

// "train.sh:3: --gpus: "0" is too small: the least is 1; for example --gpus 4".
Error bad_value(std::string_view origin, const Option& option, const std::string& why);

// Null when there is none of that name (or letter).
const Option* find_option(std::span<const Option> options, std::string_view name);
const Option* find_option(std::span<const Option> options, char letter);

}  // namespace muster
