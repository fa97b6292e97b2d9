// Log lines of a daemon: one message is one line, whatever is in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/types/result.h"

namespace muster {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };

struct LogOptions {
  std::string file;  // Empty: stderr (with <3>… priorities when that is the journal). Reopened by
                     // reopen_log().
  LogLevel level = LogLevel::kInfo;
};

// "debug", "info", "warn", "error".
Result<LogLevel> parse_log_level(std::string_view text);

// Call once at start, before threads. Until then lines go to stderr. kUnavailable when the file
// cannot be opened.
Result<void> open_log(const LogOptions& options);
Result<void> reopen_log();  // After SIGHUP: the file may have been moved away. The old one stays in
                            // use on failure.
void set_log_level(LogLevel level);

// Thread-safe. Control characters, invalid UTF-8 and line ends are escaped; a line is cut at 8 KiB.
// A log that cannot be written never stops or blocks the daemon for long, and is never an error.
void log_line(LogLevel level, std::string_view message);
bool is_logged(LogLevel level);
bool is_log_in_file();  // Else on stderr or in the journal.

template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(LogLevel::kDebug))
    log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(LogLevel::kInfo))
    log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace muster
