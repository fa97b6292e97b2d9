// Room that others are stopped for, kept for one job; and the event after which nothing is
// remembered that is not in the cluster. As those of event.h.
#pragma once

#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

// For so long after it should have started, what was freed for a job is kept for it alone.
constexpr Duration kRoomHeldFor = minutes(10);

struct RoomGroup {
  std::vector<NodeId> nodes;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "nodes", self.nodes);
  }
};
struct FreedRoom {
  JobId job;
  Element element;
  Instant at;                     // Those who are stopped have ended by then.
  Duration time;                  // From then on it is the job's, if it starts.
  std::vector<RoomGroup> groups;  // As those of the job.
  ElementKey key() const { return {job, element}; }
  bool is_kept(Instant now) const { return now < at + kRoomHeldFor; }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
    visit(3, "at", self.at);
    visit(4, "time", self.time);
    visit(5, "groups", self.groups);
  }
};

// Instead of what was freed for the element before. Who is stopped for it follows in the record.
struct RoomFreed {
  static constexpr int kType = 80;
  static constexpr std::string_view kName = "RoomFreed";
  FreedRoom room;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "room", self.room);
  }
};

// From here on decisions follow from the cluster alone, as after a restart: plans, turns and
// forecasts are made anew. So a dump that ends here decides as the controller that goes on.
struct BoardRebuilt {
  static constexpr int kType = 81;
  static constexpr std::string_view kName = "BoardRebuilt";
  template <class Self, class V>
  static void fields(Self&, V&) {}
};

}  // namespace muster
