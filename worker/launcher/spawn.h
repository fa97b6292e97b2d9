// Starting muster-shepherd: a fixed program, an empty environment, and only the descriptors it
// needs.
#pragma once

#include <string>
#include <vector>

#include "base/order/attempt_files.h"
#include "base/order/fd.h"
#include "base/types/result.h"
#include "worker/launcher/ports.h"

namespace muster {

// Our end of the connection to the new process. Its death closes the other end.
// directories: the attempt's, that of scripts, that of running attempts.
Result<Fd> spawn_shepherd(const std::string& program, const ShepherdSpec& spec,
                          const std::vector<int>& directories, const std::vector<HeldPort>& ports);

}  // namespace muster
