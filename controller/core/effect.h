// Errands: what the world must be told once the events that caused them are durable. None is the
// only holder of an obligation: every one but Reply is derived again from Cluster and Liveness
// after a restart or a new hello.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/types/ids.h"
#include "base/types/resources.h"
#include "base/types/result.h"

namespace muster {

// What a command's sender hears. Ids are of the jobs submitted or touched, in order.
struct Reply {
  std::optional<Error> error;
  std::vector<JobId> jobs;
  std::vector<std::string> notes;  // Warnings and per-job remarks, one line each.
};

// Host reads the job's facts, blobs and place from the cluster and sends a signed order to the
// node.
struct SendPrepare {
  AttemptKey key;
  NodeId node;
};
struct SendGo {
  AttemptKey key;
  NodeId node;
};
struct SendKill {
  AttemptKey key;
  NodeId node;
  std::string reason;  // "cancelled by kim", "rank 3 on n2 exited with 1", …
  Duration grace;      // Between SIGTERM and SIGKILL.
};
struct SendSignal {
  AttemptKey key;
  NodeId node;
  std::int32_t signal = 0;
};
struct SendForget {
  AttemptKey key;
  NodeId node;
};  // Its end is journalled: the record may go.

using Effect = std::variant<SendPrepare, SendGo, SendKill, SendSignal, SendForget>;

}  // namespace muster
