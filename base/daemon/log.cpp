// The one file that knows spdlog: a sink to stderr, journal or file behind log_line().
#include "base/daemon/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <system_error>

#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::size_t kLineBytesMax = 8192;

spdlog::level::level_enum spdlog_level(LogLevel level) {
  constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                               spdlog::level::err};
  return kLevels[static_cast<std::size_t>(level)];
}

// True when stderr is the stream systemd gave us (sd_journal_print(3): JOURNAL_STREAM).
bool stderr_is_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat facts {};
  if (stream == nullptr || fstat(STDERR_FILENO, &facts) != 0) return false;
  return std::string(stream) == std::to_string(facts.st_dev) + ":" + std::to_string(facts.st_ino);
}

// One write(2) a line, so that lines of several processes do not mix. Errors are dropped.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  LineSink(int fd, bool is_owned, bool is_journal)
      : fd_(fd), is_owned_(is_owned), is_journal_(is_journal) {}
  ~LineSink() override {
    if (is_owned_) close(fd_);
  }
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t buffer;
    if (is_journal_) {
      const int priority = message.level >= spdlog::level::err    ? 3
                           : message.level >= spdlog::level::warn ? 4
                           : message.level >= spdlog::level::info ? 6
                                                                  : 7;
      const std::string prefix = "<" + std::to_string(priority) + ">";
      buffer.append(prefix.data(), prefix.data() + prefix.size());
      buffer.append(message.payload.begin(), message.payload.end());
      buffer.push_back('\n');
    } else {
      formatter_->format(message, buffer);
    }
    [[maybe_unused]] const ssize_t written = write(fd_, buffer.data(), buffer.size());
  }
  void flush_() override {}

 private:
  int fd_;
  bool is_owned_;
  bool is_journal_;
};

struct State {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;
  std::string file;
  std::atomic<LogLevel> level{LogLevel::kInfo};
};

// Never destroyed: threads may log while the process ends.
State& state() {
  static State* const only = new State;
  return *only;
}

std::shared_ptr<spdlog::logger> make_logger(std::shared_ptr<LineSink> sink) {
  auto logger = std::make_shared<spdlog::logger>("muster", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L [%P] %v", spdlog::pattern_time_type::utc);
  logger->set_level(spdlog::level::debug);
  return logger;
}

Result<std::shared_ptr<spdlog::logger>> open_logger(const std::string& file) {
  if (file.empty()) {
    return make_logger(std::make_shared<LineSink>(STDERR_FILENO, false, stderr_is_journal()));
  }
  const int fd =
      open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW,
           S_IRUSR | S_IWUSR | S_IRGRP);
  if (fd < 0) {
    return fail(ErrorCode::kUnavailable,
                "log file " + file + ": " + std::generic_category().message(errno));
  }
  return make_logger(std::make_shared<LineSink>(fd, true, false));
}

std::shared_ptr<spdlog::logger> current_logger() {
  State& my = state();
  const std::lock_guard lock(my.mutex);
  if (my.logger == nullptr) my.logger = *open_logger("");
  return my.logger;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warn", "error"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<LogLevel>(i);
  }
  return fail(ErrorCode::kInvalid, "\"" + escape_for_terminal(text.substr(0, 64)) +
                                       "\" is no log level: debug, info, warn or error");
}

Result<void> open_log(const LogOptions& options) {
  auto logger = open_logger(options.file);
  if (!logger) return logger.error();
  State& my = state();
  const std::lock_guard lock(my.mutex);
  my.logger = std::move(*logger);
  my.file = options.file;
  my.level.store(options.level);
  return {};
}

Result<void> reopen_log() {
  State& my = state();
  const std::lock_guard lock(my.mutex);
  if (my.file.empty()) return {};
  auto logger = open_logger(my.file);
  if (!logger) return logger.error();
  my.logger = std::move(*logger);
  return {};
}

void set_log_level(LogLevel level) { state().level.store(level); }
bool is_logged(LogLevel level) { return level >= state().level.load(std::memory_order_relaxed); }

bool is_log_in_file() {
  State& my = state();
  const std::lock_guard lock(my.mutex);
  return !my.file.empty();
}

void log_line(LogLevel level, std::string_view message) {
  if (!is_logged(level)) return;
  std::string line = escape_for_terminal(message.substr(0, kLineBytesMax));
  if (line.size() > kLineBytesMax || message.size() > kLineBytesMax) {
    line.resize(std::min(line.size(), kLineBytesMax));
    line += "...";
  }
  current_logger()->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace muster
