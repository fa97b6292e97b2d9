// Trades a one-time token for a place in the cluster.
#pragma once

#include <string>

#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

struct EnrolOptions {
  std::string endpoint;    // Of the controller's enrol port.
  std::string server_key;  // Z85, or a file with it.
  std::string token;
  std::string node;
  std::string key_file;    // Made when there is none.
  std::string order_keys;  // File the launcher pins keys from; written.
  Duration timeout = seconds(15);
};

// kUnavailable: no answer in time; kConflict: refused, with the controller's reason; kInvalid: an
// option cannot be right, or the answer is not. Writes order_keys only after a good answer,
// replacing what was there. Blocks.
Result<void> enrol(const EnrolOptions& options);

}  // namespace muster
