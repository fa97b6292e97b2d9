// One run of a site's program beside the controller, with a deadline.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

constexpr std::size_t kPolicyOutputBytesMax = 4U << 20U;

struct PolicyRun {
  std::string shut_in;  // The path of muster-policy.
  std::string program;
  std::string user;
  Duration timeout;
  const std::atomic<bool>& stopping;  // When it turns true the run is given up.
};

// Gives the program `input` on its standard input; what it wrote on standard output when it ended
// with 0. kUnavailable otherwise: not started, not done at the deadline (it and its children are
// killed then), ended otherwise, wrote too much; the text has the last line of its standard error.
// Blocks until then. Any thread.
Result<std::string> run_policy(const PolicyRun& run, std::string_view input);

}  // namespace muster
