// Pushes changed rows to those who watch.
#include "controller/host/watch_hub.h"

#include <algorithm>
#include <chrono>

#include "base/message/codec.h"
#include "controller/host/listing.h"

namespace muster {

namespace {

template <class T>
bool holds(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool chosen(const std::vector<JobChoice>& jobs, const JobRow& row) {
  return std::any_of(jobs.begin(), jobs.end(), [&](const JobChoice& choice) {
    return choice.job == row.job &&
           (!choice.element.has_value() || *choice.element == row.element || !row.elements.empty());
  });
}

}  // namespace

bool matches(const JobsBody& body, const JobRow& row) {
  if (!body.jobs.empty() && !chosen(body.jobs, row)) return false;
  if (!body.users.empty() && !holds(body.users, row.user)) return false;
  if (!body.queues.empty() && !holds(body.queues, row.queue)) return false;
  if (!body.names.empty() && !holds(body.names, row.name)) return false;
  if (!body.states.empty()) return holds(body.states, row.state);
  return row.state != JobState::kEnded || body.include_ended;
}

WatchHub::WatchHub(const View& view, Respond respond) : view_(view), respond_(std::move(respond)) {}

WatchHub::~WatchHub() { stop(); }

void WatchHub::start() {
  thread_ = std::thread([this] { run(); });
}

void WatchHub::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Result<void> WatchHub::add(const Caller& caller, JobsBody body) {
  {
    const std::lock_guard lock(mutex_);
    if (watches_.size() >= kWatchesMax) {
      return fail(ErrorCode::kLimit,
                  "watch: the controller serves as many watches as it may; try again later");
    }
    auto watch = std::make_shared<Watch>();
    watch->caller = caller;
    watch->body = std::move(body);
    watches_.push_back(std::move(watch));
    news_ = true;
  }
  woken_.notify_one();
  return {};
}

void WatchHub::drop(const PeerId& peer, std::uint64_t connection) {
  const std::lock_guard lock(mutex_);
  std::erase_if(watches_, [&](const std::shared_ptr<Watch>& watch) {
    return watch->caller.peer == peer && watch->caller.connection == connection;
  });
}

void WatchHub::changed(const ViewChange& change) {
  if (change.jobs.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    if (watches_.empty()) return;
    for (const auto& [id, view] : change.jobs) changed_.insert(id);
    news_ = true;
  }
  woken_.notify_one();
}

void WatchHub::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock, [&] { return stopping_ || news_; });
    if (stopping_) return;
    news_ = false;
    const std::vector<std::shared_ptr<Watch>> watches = watches_;
    std::set<JobId> changed;
    changed.swap(changed_);
    lock.unlock();
    const auto state = view_.state();
    for (const auto& watch : watches) serve(*watch, changed, *state);
    lock.lock();
    // Changes that come meanwhile are merged into one message.
    woken_.wait_for(lock, std::chrono::microseconds(kWatchEvery.us), [&] { return stopping_; });
  }
}

void WatchHub::serve_first(Watch& watch, const ViewState& state, bool reset) {
  watch.begun = true;
  watch.shown.clear();
  WatchReply reply;
  reply.reset = reset;
  const auto add_job = [&](std::uint64_t, const JobView& job) {
    const bool ended = watch.body.include_ended || !watch.body.states.empty();
    for (JobRow& row : job_rows(job, state, {ended, {}})) {
      if (!matches(watch.body, row)) continue;
      watch.shown.insert({row.job, row.element});
      reply.rows.push_back(std::move(row));
    }
    return true;
  };
  if (watch.body.jobs.empty()) {
    state.jobs.for_each(0, add_job);
  } else {
    for (const JobChoice& choice : watch.body.jobs) {
      if (const JobView* job = state.jobs.find(choice.job.value)) add_job(choice.job.value, *job);
    }
  }
  send(watch, state, std::move(reply));
}

// Those that were shown come once more when they have ended.
EndedRows WatchHub::ended_rows(const Watch& watch, JobId job) {
  EndedRows rows{watch.body.include_ended || !watch.body.states.empty(), {}};
  auto it = watch.shown.lower_bound({job, Element{}});
  for (; !rows.all && it != watch.shown.end() && it->first == job; ++it)
    rows.only.push_back(it->second);
  return rows;
}

void WatchHub::serve(Watch& watch, const std::set<JobId>& changed, const ViewState& state) {
  if (!watch.begun) return serve_first(watch, state, false);
  WatchReply reply;
  for (const JobId id : changed) {
    const JobView* job = state.jobs.find(id.value);
    if (job == nullptr) continue;
    for (JobRow& row : job_rows(*job, state, ended_rows(watch, id))) {
      const std::pair<JobId, Element> key{row.job, row.element};
      if (matches(watch.body, row)) {
        watch.shown.insert(key);
      } else if (watch.shown.erase(key) == 0) {
        continue;
      }
      reply.rows.push_back(std::move(row));
    }
    if (reply.rows.size() > kWatchRowsMax) return serve_first(watch, state, true);
  }
  if (!reply.rows.empty()) send(watch, state, std::move(reply));
}

void WatchHub::send(const Watch& watch, const ViewState& state, WatchReply reply) {
  Response response = answer(watch.caller, state.seq, encode(reply));
  response.more = true;
  respond_(watch.caller, std::move(response));
}

}  // namespace muster
