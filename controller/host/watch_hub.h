// Standing queries: a snapshot at a sequence, then what changes. A slow reader gets merged changes;
// a gone one is dropped.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/message/request.h"
#include "controller/host/caller.h"
#include "controller/host/listing.h"
#include "controller/host/view.h"

namespace muster {

constexpr std::size_t kWatchesMax = 10000;
constexpr std::size_t kWatchRowsMax =
    5000;  // Changed rows of one message; more means a reset with the rows that match.
constexpr Duration kWatchEvery = milliseconds(100);

// Whether a row is one the body asks for.
bool matches(const JobsBody& body, const JobRow& row);

class WatchHub {
 public:
  WatchHub(const View& view, Respond respond);
  ~WatchHub();
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  void start();
  void stop();
  // kLimit when there are too many.
  Result<void> add(const Caller& caller, JobsBody body);
  void drop(const PeerId& peer, std::uint64_t connection);  // The client is gone.
  void changed(const ViewChange& change);                   // After its publication.

 private:
  struct Watch {
    Caller caller;
    JobsBody body;
    bool begun = false;
    std::set<std::pair<JobId, Element>> shown;  // Rows the reader has and must hear the end of.
  };
  void run();
  void serve(Watch& watch, const std::set<JobId>& changed, const ViewState& state);
  void serve_first(Watch& watch, const ViewState& state, bool reset);
  static EndedRows ended_rows(const Watch& watch, JobId job);
  void send(const Watch& watch, const ViewState& state, WatchReply reply);

  const View& view_;
  Respond respond_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<std::shared_ptr<Watch>> watches_;
  std::set<JobId> changed_;
  bool news_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster
