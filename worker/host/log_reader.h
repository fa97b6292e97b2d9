// Serves the output of tasks to the controller's relay, over the bulk port, on a thread and a
// connection of its own. Files are opened by the launcher; the worker's main thread passes requests
// and descriptors on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/worker.h"
#include "base/order/fd.h"
#include "base/order/local_protocol.h"
#include "base/types/result.h"

namespace muster {

constexpr std::uint32_t kLogAnswerBytesMax = 256U << 10U;
constexpr std::uint32_t kLogWaitMsMaxHere = 60000;
constexpr std::size_t kLogAsksWaitingMax = 8192;
constexpr std::size_t kLogFilesOpenMax = 1024;

struct LogOpened {
  std::uint64_t number = 0;
  std::string error;
  std::string path;
  Fd file;
};

class LogReader {
 public:
  struct Parts {
    std::unique_ptr<ClientSocket> socket;
    std::function<void(LocalLogOpen)> open;   // Called from the reader's thread; opened() answers.
    std::function<bool(AttemptKey)> is_live;  // Called from the reader's thread.
  };
  explicit LogReader(Parts parts);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  // Any thread: the answer to what open() was called for.
  void opened(LogOpened answer);

 private:
  using FileKey = std::tuple<AttemptKey, std::int32_t, bool>;
  struct File {
    std::uint64_t opening = 0;  // Number of the request on its way; 0: none.
    Fd file;
    std::string path;
    std::string error;  // Of the last opening.
    Instant tried_at;
    Instant used_at;
    std::size_t asks = 0;  // That wait for it.
  };
  struct Waiting {
    LogAsk ask;
    Instant until;
  };

  void run();
  void follow_connection();
  void take_opened();
  void take(const LogAsk& ask, Instant now);
  // True when the ask was answered.
  bool try_answer(const LogAsk& ask, File& file, bool is_last_chance);
  bool answer_bytes(const LogAsk& ask, const File& file, bool is_last_chance);
  void request_open(const LogAsk& ask, File& file, Instant now);
  void look_at_waiting(Instant now);
  void close_idle(Instant now);
  void answer(const LogAnswer& answer);

  Parts parts_;
  WakeUp wake_;
  std::mutex mutex_;
  std::vector<LogOpened> mail_;
  std::atomic<bool> stopping_{false};

  std::map<FileKey, File> files_;
  std::map<std::uint64_t, FileKey> openings_;
  std::list<Waiting> waiting_;
  std::uint64_t number_last_ = 0;
  std::uint64_t connection_ = 0;
  Instant said_at_;
  Instant looked_at_;
  std::string buffer_;
  std::thread thread_;
};

}  // namespace muster
