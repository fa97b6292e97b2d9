// Runs muster-compactor beside the controller: a process of its own at low priority, so that a
// snapshot never holds up a submit. Then removes what a snapshot covers and PostgreSQL has.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/types/time.h"
#include "controller/host/disk.h"

namespace muster {

constexpr Duration kCompactEvery = minutes(10);

struct CompactionParts {
  Disk& disk;
  std::string program;  // muster-compactor's path.
  std::string state_dir;
  std::function<Seq()> database_has;  // The largest Seq when there is no database.
  // Packs that jobs in memory refer to, seen when all that was put into the store before the call
  // has become a command and been carried out; nothing when that cannot be told now.
  std::function<std::optional<std::set<std::uint32_t>>()> packs_in_use;
};

class Compaction {
 public:
  explicit Compaction(CompactionParts parts);
  ~Compaction();
  Compaction(const Compaction&) = delete;
  Compaction& operator=(const Compaction&) = delete;

  void start();
  void stop();
  void wanted();  // A segment was sealed. Any thread.

 private:
  void run();
  bool compact();  // False: the compactor failed; the log says why.
  void remove_old_segments();
  void remove_old_packs();

  CompactionParts parts_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool wanted_ = true;
  bool stopping_ = false;
  std::atomic<int> pid_{0};
  std::thread thread_;
};

}  // namespace muster
