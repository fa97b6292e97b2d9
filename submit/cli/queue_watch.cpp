// A live view of the queue.
#include "submit/cli/queue_watch.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "base/message/json.h"
#include "submit/cli/caller.h"
#include "submit/cli/job_list.h"
#include "submit/cli/job_print.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"

namespace muster {

namespace {

constexpr Duration kDrawEvery = milliseconds(500);
constexpr Duration kEndedStay = seconds(10);  // On the screen, before they go.

// A change carries all rows of the jobs that changed.
std::map<JobId, std::vector<JobRow>> by_job(const std::vector<JobRow>& rows) {
  std::map<JobId, std::vector<JobRow>> jobs;
  for (const JobRow& row : rows) jobs[row.job].push_back(row);
  return jobs;
}

// Lines for files and pipes.
class ChangeLines {
 public:
  explicit ChangeLines(bool json) : json_(json) {}

  void take(const WatchReply& reply) {
    for (const JobRow& row : reply.rows) {
      const std::string text = json_ ? to_json(row) : change_text(row);
      std::string& last = last_[job_text(row)];
      if (text == last) continue;
      last = text;
      print(json_ ? text + "\n" : local_time_with_seconds(wall_now()) + "  " + text + "\n");
    }
  }

 private:
  const bool json_;
  std::map<std::string, std::string> last_;
};

// The table, drawn by a thread of its own so that times go on while nothing happens.
class Screen {
 public:
  explicit Screen(bool keep_ended) : keep_ended_(keep_ended), drawer_([this] { run(); }) {}
  ~Screen() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_one();
    drawer_.join();
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void take(const WatchReply& reply, bool first) {
    const std::lock_guard lock(mutex_);
    if (first || reply.reset) jobs_.clear();
    for (auto& [job, rows] : by_job(reply.rows)) jobs_[job] = rows;
    begun_ = true;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (begun_) draw();
      woken_.wait_for(lock, std::chrono::microseconds(kDrawEvery.us), [this] { return stopping_; });
    }
  }

  void draw() {
    const WallTime now = wall_now();
    std::vector<JobRow> rows;
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      std::erase_if(at->second, [&](const JobRow& row) {
        return !keep_ended_ && row.state == JobState::kEnded &&
               row.ended.us + kEndedStay.us < now.us;
      });
      rows.insert(rows.end(), at->second.begin(), at->second.end());
      at = at->second.empty() ? jobs_.erase(at) : std::next(at);
    }
    const Terminal terminal = describe_stdout();
    const std::string text = local_time_with_seconds(now) + "   " + std::to_string(rows.size()) +
                             " rows, Ctrl-C ends\n" + jobs_table(rows, terminal, now);
    if (text == drawn_) return;
    drawn_ = text;
    print("\x1b[H\x1b[2J" + text);
  }

  const bool keep_ended_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::map<JobId, std::vector<JobRow>> jobs_;
  std::string drawn_;
  bool begun_ = false;
  bool stopping_ = false;
  std::thread drawer_;  // Last: it uses the others.
};

}  // namespace

int watch_queue(const Invocation& call, const JobsBody& filter) {
  Caller caller(call);
  Result<void> ended;
  if (call.json || !describe_stdout().is_tty) {
    ChangeLines lines(call.json);
    ended = caller.watch(filter, [&lines](const WatchReply& reply, bool) {
      lines.take(reply);
      return true;
    });
  } else {
    Screen screen(filter.include_ended);
    ended = caller.watch(filter, [&screen](const WatchReply& reply, bool first) {
      screen.take(reply, first);
      return true;
    });
  }
  return ended ? kExitOk : fail_command(call, ended.error());
}

}  // namespace muster
