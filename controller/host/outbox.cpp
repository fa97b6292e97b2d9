// Releases in order, in batches: one publication per batch.
#include "controller/host/outbox.h"

#include <iterator>

namespace muster {

namespace {

void merge(ViewChange& into, ViewChange&& from) {
  into.seq = from.seq;
  into.jobs.insert(into.jobs.end(), std::make_move_iterator(from.jobs.begin()),
                   std::make_move_iterator(from.jobs.end()));
  into.nodes.insert(into.nodes.end(), std::make_move_iterator(from.nodes.begin()),
                    std::make_move_iterator(from.nodes.end()));
  if (from.config != nullptr) into.config = std::move(from.config);
  if (from.reservations != nullptr) into.reservations = std::move(from.reservations);
}

}  // namespace

Outbox::Outbox(OutboxSinks sinks) : sinks_(std::move(sinks)), thread_([this] { run(); }) {}

Outbox::~Outbox() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  thread_.join();
}

void Outbox::add(std::vector<OutboxItem> items) {
  if (items.empty()) return;
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    for (OutboxItem& item : items) items_.push_back(std::move(item));
    ready = items_.front().after <= durable_;
  }
  if (ready) woken_.notify_one();
}

void Outbox::durable(Seq seq) {
  {
    const std::lock_guard lock(mutex_);
    if (seq <= durable_) return;
    durable_ = seq;
    if (items_.empty()) return;
  }
  woken_.notify_one();
}

std::size_t Outbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

void Outbox::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock,
                [&] { return stopping_ || (!items_.empty() && items_.front().after <= durable_); });
    std::vector<OutboxItem> ready;
    while (!items_.empty() && items_.front().after <= durable_) {
      ready.push_back(std::move(items_.front()));
      items_.pop_front();
    }
    if (ready.empty()) return;  // Stopping, and the rest is not durable.
    lock.unlock();
    release(ready);
    lock.lock();
  }
}

void Outbox::release(std::vector<OutboxItem>& ready) {
  ViewChange change;
  std::vector<Errand> errands;
  for (OutboxItem& item : ready) {
    merge(change, std::move(item.change));
    errands.insert(errands.end(), std::make_move_iterator(item.errands.begin()),
                   std::make_move_iterator(item.errands.end()));
  }
  sinks_.publish(change, ready.back().epoch);
  for (const OutboxItem& item : ready) {
    if (item.reply_to) item.reply_to(item.reply, item.after);
  }
  if (!errands.empty()) sinks_.errands(std::move(errands));
}

}  // namespace muster
