// Becoming the user for good, and the limits its processes start with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types/result.h"

namespace muster {

struct Identity {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;
};

// Groups, gid, uid, in that order, each checked; then verified: the ids are as asked, root cannot
// be taken back, no capability is left. An error names the call; the caller must end. Process-wide;
// call it single-threaded.
Result<void> become(const Identity& identity, bool no_new_privileges);

// memlock, stack: unlimited; nofile at least 131072; core soft 0. What the kernel does not let us
// raise is capped at the hard limit and named in capped.
Result<void> set_resource_limits(std::vector<std::string>& capped);

}  // namespace muster
