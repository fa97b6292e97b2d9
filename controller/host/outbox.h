// What waits for the disk: replies, errands and what readers may see, in the order of the engine's
// steps. A crash must not leave a job running, or a user told of one, that no journal has heard of.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/core/effect.h"
#include "controller/host/errand.h"
#include "controller/host/view.h"

namespace muster {

using ReplyTo = std::function<void(const Reply& reply, Seq seq)>;

struct OutboxItem {
  Seq after;  // Released once this is durable.
  Epoch epoch;
  ReplyTo reply_to;  // May be empty.
  Reply reply;
  ViewChange change;
  std::vector<Errand> errands;
};

struct OutboxSinks {
  std::function<void(const ViewChange&, Epoch)>
      publish;  // First, so that who hears a reply can read it.
  std::function<void(std::vector<Errand>)> errands;  // Last.
};

// add() on the engine's thread, durable() on any; the sinks and replies run on the outbox's own
// thread.
class Outbox {
 public:
  explicit Outbox(OutboxSinks sinks);
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void add(std::vector<OutboxItem> items);
  void durable(Seq seq);
  std::size_t waiting() const;

 private:
  void run();
  void release(std::vector<OutboxItem>& ready);

  OutboxSinks sinks_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<OutboxItem> items_;
  Seq durable_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace muster
