// Nothing leaves the outbox before its record is durable, and everything leaves it in order.
#include "controller/host/outbox.h"

#include <gtest/gtest.h>

#include <future>

namespace muster {
namespace {

struct Seen {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::promise<void> done;
  void add(const std::string& line, bool last) {
    {
      const std::lock_guard lock(mutex);
      lines.push_back(line);
    }
    if (last) done.set_value();
  }
};

OutboxItem item(std::uint64_t after, Seen& seen, const std::string& name, bool last = false) {
  OutboxItem made;
  made.after = Seq{after};
  made.change.seq = made.after;
  made.reply_to = [&seen, name, last](const Reply&, Seq) { seen.add("reply " + name, last); };
  return made;
}

TEST(Outbox, KeepsItemsUntilTheirRecordIsDurable) {
  Seen seen;
  OutboxSinks sinks;
  sinks.publish = [&](const ViewChange& change, Epoch) {
    seen.add("publish " + std::to_string(change.seq.value), false);
  };
  sinks.errands = [](const std::vector<Errand>&) {};
  Outbox outbox(sinks);
  std::vector<OutboxItem> items;
  items.push_back(item(1, seen, "a"));
  items.push_back(item(2, seen, "b", true));
  items.push_back(item(3, seen, "c"));
  outbox.add(std::move(items));
  EXPECT_EQ(outbox.waiting(), 3U);
  outbox.durable(Seq{2});
  seen.done.get_future().wait();
  EXPECT_EQ(outbox.waiting(), 1U);
  const std::lock_guard lock(seen.mutex);
  EXPECT_EQ(seen.lines, (std::vector<std::string>{"publish 2", "reply a", "reply b"}));
}

TEST(Outbox, ReleasesAtOnceWhatWaitsForNothing) {
  Seen seen;
  OutboxSinks sinks;
  sinks.publish = [](const ViewChange&, Epoch) {};
  sinks.errands = [](const std::vector<Errand>&) {};
  Outbox outbox(sinks);
  outbox.durable(Seq{5});
  std::vector<OutboxItem> items;
  items.push_back(item(5, seen, "read", true));
  outbox.add(std::move(items));
  seen.done.get_future().wait();
  EXPECT_EQ(outbox.waiting(), 0U);
}

}  // namespace
}  // namespace muster
