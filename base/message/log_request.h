// How a job's output is asked for, and answered.
#pragma once

#include <string>

#include "base/message/job_request.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/job_spec.h"

namespace muster {

// Relayed by the controller's bulk port between gateway and worker; never through the engine.
struct LogOpenBody {
  JobChoice job;
  std::uint32_t attempt = 0;  // 0: the current or last.
  std::int32_t rank = -1;     // -1: the file of the first node (what --output names).
  std::string node;           // With rank -1: this node's file.
  bool errors = false;        // The --error stream, when it is its own.
  std::uint64_t offset = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "attempt", self.attempt);
    visit(3, "rank", self.rank);
    visit(4, "node", self.node);
    visit(5, "errors", self.errors);
    visit(6, "offset", self.offset);
  }
};
struct LogOpenReply {
  std::uint64_t handle = 0;
  std::string node;
  std::string path;  // Where the bytes lie on that node; for people.
  AttemptKey key;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
    visit(2, "node", self.node);
    visit(3, "path", self.path);
    visit(4, "key", self.key);
  }
};
struct LogReadBody {
  std::uint64_t handle = 0;
  std::uint64_t offset = 0;
  std::uint32_t bytes_max = 0;  // At most kLogReadBytesMax.
  std::uint32_t wait_ms =
      0;  // At the end of the file of a running attempt: how long to wait for more.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
    visit(2, "offset", self.offset);
    visit(3, "bytes_max", self.bytes_max);
    visit(4, "wait_ms", self.wait_ms);
  }
};
constexpr std::uint32_t kLogReadBytesMax = 192U << 10U;
struct LogReadReply {
  std::uint64_t offset = 0;
  std::string data;
  bool end = false;  // The attempt has ended on that node and this is all.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "offset", self.offset);
    visit(2, "data", self.data);
    visit(3, "end", self.end);
  }
};
struct LogCloseBody {
  std::uint64_t handle = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "handle", self.handle);
  }
};

}  // namespace muster
