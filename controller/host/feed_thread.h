// Follows the journal into PostgreSQL. The journal is the outbox: while the database is away
// nothing is lost, it only waits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "controller/host/disk.h"
#include "controller/host/settings.h"

namespace muster {

struct FeedStatus {
  bool connected = false;
  Seq reached;
  std::string error;
};

struct FeedParts {
  Disk& disk;
  const Settings& settings;
  std::string cluster_id;
  Epoch epoch;
  std::function<void(Seq)> reached;  // After each commit; on the feed's thread.
};

class FeedThread {
 public:
  explicit FeedThread(FeedParts parts);
  ~FeedThread();
  FeedThread(const FeedThread&) = delete;
  FeedThread& operator=(const FeedThread&) = delete;

  void start();
  void stop();
  void durable(Seq seq);  // Any thread; cheap.
  FeedStatus status() const;

 private:
  void run();
  void follow(const std::string& conninfo);
  Seq durable_now() const;
  bool wait_past(Seq seq);        // False: stopping.
  bool pause(Duration duration);  // False: stopping.
  void note(bool connected, Seq reached, const std::string& error);

  FeedParts parts_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  Seq durable_;
  FeedStatus status_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster
