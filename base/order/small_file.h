// Whole files that are not large, and what to say of a system call that failed.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

// path below the directory, or an absolute one. kNotFound when it is not there, kLimit when it is
// longer; never follows a link at its end.
Result<std::string> read_file(int directory, const std::string& path, std::size_t bytes_max);
// The same of an open file, from its beginning.
Result<std::string> read_file(int file, std::size_t bytes_max);

// Files of the kernel's, by absolute path; an error has path and errno.
Result<std::string> read_small_file(const std::string& path);
Result<void> write_small_file(const std::string& path, std::string_view text);

// Of a directory, without those that begin with a dot; none when it cannot be read.
std::vector<std::string> names_in(int directory);

// kUnavailable: "STEP: why (errno N)".
Error failed(const std::string& step, int number = errno);

}  // namespace muster
