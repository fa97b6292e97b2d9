// Whole files that are not large.
#pragma once

#include <string>

#include "base/types/result.h"

namespace muster {

// path below the directory, or an absolute one. kNotFound when it is not there, kLimit when it is
// longer; never follows a link at its end.
Result<std::string> read_file(int directory, const std::string& path, std::size_t bytes_max);
// The same of an open file, from its beginning.
Result<std::string> read_file(int file, std::size_t bytes_max);

}  // namespace muster
