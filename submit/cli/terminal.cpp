// Standard output and error.
#include "submit/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/types/size.h"
#include "base/types/text.h"

namespace muster {

namespace {

constexpr int kExitWriteFailed = 74;  // EX_IOERR.

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

std::size_t columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0) return size.ws_col;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    if (auto count = parse_count(text, 20, 10000); count) return *count;
  }
  return 80;
}

// Two columns in every terminal font: CJK, Hangul, full-width forms, pictographs.
bool is_wide(std::uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
         (c >= 0x20000 && c <= 0x3FFFD);
}

bool is_combining(std::uint32_t c) {
  return (c >= 0x0300 && c <= 0x036F) || (c >= 0x1AB0 && c <= 0x1AFF) ||
         (c >= 0x20D0 && c <= 0x20FF) || (c >= 0xFE00 && c <= 0xFE0F);
}

}  // namespace

Terminal describe_stdout() {
  Terminal terminal;
  terminal.is_tty = isatty(STDOUT_FILENO) == 1;
  if (!terminal.is_tty) return terminal;
  terminal.width = columns();
  const char* kind = std::getenv("TERM");
  terminal.colour = !is_set("NO_COLOR") && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  return terminal;
}

std::size_t display_width(std::string_view text) {
  const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
  if (is_ascii) return text.size();  // Nearly always, and long lists have many cells.
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint32_t point = length == 1 ? lead : lead & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length && at + i < text.size(); ++i) {
      point = (point << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
    }
    at += length;
    if (!is_combining(point)) width += is_wide(point) ? 2U : 1U;
  }
  return width;
}

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno != EINTR) {
      if (errno != EPIPE) {
        print_error(std::string("cannot write to standard output: ") + std::strerror(errno));
      }
      _exit(kExitWriteFailed);
    }
  }
}

void print_error(std::string_view line) {
  const std::string shown = escape_for_terminal(line) + "\n";
  (void)!write(STDERR_FILENO, shown.data(), shown.size());
}

}  // namespace muster
