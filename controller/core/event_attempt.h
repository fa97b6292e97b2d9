// The events of an attempt's life, from its start to the end of its last member.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/resources.h"
#include "base/types/time.h"

namespace muster {

// Capacity is taken from here to AttemptEnded; money runs from AttemptLaunched.
struct AttemptStarted {
  static constexpr int kType = 20;
  static constexpr std::string_view kName = "AttemptStarted";
  AttemptKey key;
  Place place;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "place", self.place);
  }
};
// All members are prepared: from here on the gang runs or has run.
struct AttemptLaunched {
  static constexpr int kType = 21;
  static constexpr std::string_view kName = "AttemptLaunched";
  AttemptKey key;
  std::string master_address;
  std::vector<std::uint16_t> ports;  // First: MASTER_PORT; then the --ports asked for.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "master_address", self.master_address);
    visit(3, "ports", self.ports);
  }
};
// Decided to stop: kills are re-derived from it until every member has ended.
struct AttemptStopping {
  static constexpr int kType = 22;
  static constexpr std::string_view kName = "AttemptStopping";
  AttemptKey key;
  Cause cause;           // Why; becomes the attempt's cause unless a member knows better.
  bool requeue = false;  // Another attempt follows: a person's wish, or preempted.
  Instant at;            // 0 in records of the time when this was not kept.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "cause", self.cause);
    visit(3, "requeue", self.requeue);
    visit(4, "at", self.at);
  }
};
struct MemberEnded {
  static constexpr int kType = 23;
  static constexpr std::string_view kName = "MemberEnded";
  AttemptKey key;
  NodeId node;
  ExitRecord record;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "node", self.node);
    visit(3, "record", self.record);
  }
};
// All members have ended: the capacity is free. charged is from launch to here, 0 when it never
// launched.
struct AttemptEnded {
  static constexpr int kType = 24;
  static constexpr std::string_view kName = "AttemptEnded";
  AttemptKey key;
  Cause cause;
  Duration charged;
  std::uint64_t gpu_milli_ms = 0;  // charged × granted milli-GPU, exact.
  std::uint64_t cpu_ms = 0;        // charged × granted CPUs.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "cause", self.cause);
    visit(3, "charged", self.charged);
    visit(4, "gpu_milli_ms", self.gpu_milli_ms);
    visit(5, "cpu_ms", self.cpu_ms);
  }
};

}  // namespace muster
