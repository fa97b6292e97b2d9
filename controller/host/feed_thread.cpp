// Batches of durable records into the database, with patience.
#include "controller/host/feed_thread.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/daemon/log.h"
#include "controller/record/event_codec.h"
#include "controller/sql/feed.h"

namespace muster {

namespace {

constexpr std::size_t kRecordsPerCommit = 8000;  // A commit costs about as much as 2,000.
constexpr std::size_t kBytesPerCommit = 8U << 20U;
constexpr Duration kRetryMin = milliseconds(500);
constexpr Duration kRetryMax = seconds(15);

}  // namespace

FeedThread::FeedThread(FeedParts parts) : parts_(std::move(parts)) {}

FeedThread::~FeedThread() { stop(); }

void FeedThread::start() {
  thread_ = std::thread([this] { run(); });
}

void FeedThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void FeedThread::durable(Seq seq) {
  {
    const std::lock_guard lock(mutex_);
    durable_ = seq;
  }
  woken_.notify_one();
}

FeedStatus FeedThread::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void FeedThread::note(bool connected, Seq reached, const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (error != status_.error && !error.empty()) log_warn("accounting waits: {}", error);
  if (connected && !status_.connected)
    log_info("accounting: connected, PostgreSQL has records up to {}", reached.value);
  status_ = {connected, reached, error};
}

Seq FeedThread::durable_now() const {
  const std::lock_guard lock(mutex_);
  return durable_;
}

bool FeedThread::wait_past(Seq seq) {
  std::unique_lock lock(mutex_);
  woken_.wait(lock, [&] { return stopping_ || durable_ > seq; });
  return !stopping_;
}

bool FeedThread::pause(Duration duration) {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, std::chrono::microseconds(duration.us), [&] { return stopping_; });
  return !stopping_;
}

void FeedThread::run() {
  Duration retry = kRetryMin;
  for (;;) {
    const std::string conninfo = parts_.settings.now()->database;
    if (conninfo.empty()) {
      // No accounting: what ended may be forgotten once it is durable.
      const Seq durable = durable_now();
      note(false, durable, "");
      parts_.reached(durable);
    } else {
      const Seq before = status().reached;
      follow(conninfo);
      retry = status().reached > before ? kRetryMin : std::min(retry * 2, kRetryMax);
    }
    if (!pause(retry)) return;
  }
}

void FeedThread::follow(const std::string& conninfo) {
  auto feed = Feed::connect(conninfo, parts_.cluster_id, parts_.epoch);
  if (!feed) return note(false, status().reached, feed.error().message);
  note(true, feed->watermark(), "");
  parts_.reached(feed->watermark());
  while (wait_past(feed->watermark())) {
    std::vector<Record> records;
    std::size_t bytes = 0;
    std::string problem;
    const auto read =
        parts_.disk.read_from(feed->watermark().value + 1, [&](const RecordView& view) {
          auto record = decode_record(view.payload);
          if (!record) {
            problem = record.error().message;
            return false;
          }
          bytes += view.payload.size();
          records.push_back(std::move(*record));
          return records.size() < kRecordsPerCommit && bytes < kBytesPerCommit;
        });
    if (!read) problem = read.error().message;
    if (problem.empty() && !records.empty()) {
      const auto written = feed->write(records);
      if (!written) problem = written.error().message;
    }
    if (!problem.empty()) return note(false, feed->watermark(), problem);
    note(true, feed->watermark(), "");
    parts_.reached(feed->watermark());
  }
}

}  // namespace muster
