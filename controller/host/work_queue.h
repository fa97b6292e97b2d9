// Jobs for a few threads, bounded: full is an answer.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace muster {

class WorkQueue {
 public:
  using Work = std::function<void()>;
  WorkQueue(std::size_t threads, std::size_t queued_max) : queued_max_(queued_max) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  ~WorkQueue() { stop(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // False when full or stopping. Any thread.
  bool push(Work work) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || works_.size() >= queued_max_) return false;
      works_.push_back(std::move(work));
    }
    woken_.notify_one();
    return true;
  }
  // What is queued is dropped; what runs is waited for.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      works_.clear();
    }
    woken_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      woken_.wait(lock, [&] { return stopping_ || !works_.empty(); });
      if (stopping_) return;
      Work work = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::size_t queued_max_;
  std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Work> works_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace muster
