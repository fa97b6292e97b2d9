// Reads files at offsets; who asks beyond the end may wait there.
#include "worker/host/log_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "worker/host/boot_clock.h"

namespace muster {
namespace {

constexpr int kAsksAtOnce = 256;
constexpr int kIdleTurnMs = 500;
constexpr int kWaitingTurnMs = 40;               // How late new output may be seen.
constexpr Duration kPresenceEvery = seconds(5);  // The relay forgets routes when it restarts.
constexpr Duration kReopenAfter = milliseconds(200);
constexpr Duration kOpenPatience = seconds(3);
constexpr Duration kFileIdle = seconds(60);

LogAnswer refusal(const LogAsk& ask, const std::string& error) {
  LogAnswer answer;
  answer.number = ask.number;
  answer.error = error;
  return answer;
}

}  // namespace

LogReader::LogReader(Parts parts) : parts_(std::move(parts)), buffer_(kLogAnswerBytesMax, '\0') {
  thread_ = std::thread([this] { run(); });
}

LogReader::~LogReader() {
  stopping_ = true;
  wake_.wake();
  thread_.join();
}

void LogReader::opened(LogOpened answer) {
  {
    const std::lock_guard lock(mutex_);
    mail_.push_back(std::move(answer));
  }
  wake_.wake();
}

void LogReader::run() {
  Poller poller;
  poller.watch(*parts_.socket);
  poller.watch_fd(wake_.fd());
  while (!stopping_) {
    poller.wait(waiting_.empty() ? kIdleTurnMs : kWaitingTurnMs);
    wake_.clear();
    follow_connection();
    take_opened();
    const Instant now = boot_now();
    for (int i = 0; i < kAsksAtOnce; ++i) {
      const std::optional<std::string> payload = parts_.socket->receive();
      if (!payload) break;
      const Result<LogAsk> ask = decode<LogAsk>(*payload);
      if (ask) {
        take(*ask, now);
      } else {
        log_warn("logs: {}", ask.error().message);
      }
    }
    look_at_waiting(now);
    close_idle(now);
  }
}

// A new connection is new to the relay, and whoever asked over the old one asks again.
void LogReader::follow_connection() {
  if (parts_.socket->incarnation() != connection_) {
    connection_ = parts_.socket->incarnation();
    waiting_.clear();
    for (auto& [key, file] : files_) file.asks = 0;
    said_at_ = Instant{};
  }
  const Instant now = boot_now();
  if (!parts_.socket->connected() || now - said_at_ < kPresenceEvery) return;
  said_at_ = now;
  answer(LogAnswer{});
}

void LogReader::take_opened() {
  std::vector<LogOpened> mail;
  {
    const std::lock_guard lock(mutex_);
    mail.swap(mail_);
  }
  for (LogOpened& one : mail) {
    const auto opening = openings_.find(one.number);
    if (opening == openings_.end()) continue;
    File& file = files_[opening->second];
    openings_.erase(opening);
    file.opening = 0;
    file.error = one.error;
    file.path = one.path;
    file.file = std::move(one.file);
    if (!file.file.is_open() && file.error.empty()) file.error = "the launcher sent no file";
  }
}

void LogReader::take(const LogAsk& ask, Instant now) {
  const FileKey key{ask.key, ask.rank, ask.errors};
  if (files_.find(key) == files_.end() && files_.size() >= kLogFilesOpenMax) {
    return answer(refusal(ask, "too many logs are being read on this node; retry"));
  }
  File& file = files_[key];
  file.used_at = now;
  if (!file.file.is_open() && file.opening == 0) request_open(ask, file, now);
  if (try_answer(ask, file, false)) return;
  if (waiting_.size() >= kLogAsksWaitingMax) {
    return answer(refusal(ask, "too many logs are being followed on this node; retry"));
  }
  ++file.asks;
  waiting_.push_back({ask, now + milliseconds(std::min(ask.wait_ms, kLogWaitMsMaxHere))});
}

void LogReader::request_open(const LogAsk& ask, File& file, Instant now) {
  file.opening = ++number_last_;
  file.tried_at = now;
  file.error.clear();
  openings_[file.opening] = {ask.key, ask.rank, ask.errors};
  parts_.open({file.opening, ask.key, ask.rank, ask.errors});
}

bool LogReader::try_answer(const LogAsk& ask, File& file, bool is_last_chance) {
  if (file.file.is_open()) return answer_bytes(ask, file, is_last_chance);
  if (file.opening != 0) return false;
  // A task that has not opened its output yet will; one that has ended will not.
  const bool may_come = parts_.is_live(ask.key);
  if (may_come && !is_last_chance) return false;
  LogAnswer reply = refusal(ask, may_come ? std::string() : file.error);
  reply.offset = ask.offset;
  answer(reply);
  return true;
}

bool LogReader::answer_bytes(const LogAsk& ask, const File& file, bool is_last_chance) {
  const bool is_live =
      parts_.is_live(ask.key);  // Before reading: what it wrote last is then there.
  const std::size_t wanted = std::min(ask.bytes_max, kLogAnswerBytesMax);
  ssize_t got = 0;
  if (wanted > 0 && ask.offset <= static_cast<std::uint64_t>(INT64_MAX)) {
    do {
      got = ::pread(file.file.number(), buffer_.data(), wanted, static_cast<off_t>(ask.offset));
    } while (got < 0 && errno == EINTR);
  }
  if (got < 0) {
    answer(refusal(ask, std::string("cannot be read: ") + std::strerror(errno)));
    return true;
  }
  const auto size = static_cast<std::size_t>(got);
  const bool at_end = wanted > 0 && size < wanted && !is_live;
  if (size == 0 && wanted > 0 && !at_end && !is_last_chance) return false;
  LogAnswer reply;
  reply.number = ask.number;
  reply.offset = ask.offset;
  reply.data.assign(buffer_.data(), size);
  reply.end = at_end;
  reply.path = file.path;
  answer(reply);
  return true;
}

void LogReader::look_at_waiting(Instant now) {
  if (waiting_.empty() || now - looked_at_ < milliseconds(kWaitingTurnMs / 2)) return;
  looked_at_ = now;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    File& file = files_[{one->ask.key, one->ask.rank, one->ask.errors}];
    file.used_at = now;
    if (file.opening != 0) {
      if (now - file.tried_at < kOpenPatience) {
        ++one;
        continue;
      }
      openings_.erase(file.opening);
      file.opening = 0;
      file.error = "the launcher does not answer; retry";
    }
    const bool is_shut = !file.file.is_open();
    if (is_shut && now - file.tried_at >= kReopenAfter && parts_.is_live(one->ask.key)) {
      request_open(one->ask, file, now);
    }
    if (try_answer(one->ask, file, now >= one->until)) {
      --file.asks;
      one = waiting_.erase(one);
    } else {
      ++one;
    }
  }
}

void LogReader::close_idle(Instant now) {
  std::erase_if(files_, [&](const auto& entry) {
    const File& file = entry.second;
    return file.asks == 0 && file.opening == 0 && now - file.used_at > kFileIdle;
  });
}

void LogReader::answer(const LogAnswer& reply) {
  const Result<void> sent = parts_.socket->send(encode(reply));
  if (!sent && parts_.socket->connected()) log_debug("logs: {}", sent.error().message);
}

}  // namespace muster
