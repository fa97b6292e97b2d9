// Old snapshot and the segments that are no longer written to become a new snapshot.
#pragma once

#include <string>

#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

struct Folded {
  Seq from;  // Of the snapshot it began with; 0: none.
  Seq to;    // Of the snapshot now; equal to `from` when there was nothing to fold.
};

// state_dir holds journal/ and snapshots/. Every SegmentSealed is compared with the digest counted
// here; a mismatch, a gap or damage is kCorrupt with the file and the offset, and writes nothing.
Result<Folded> fold_journal(const std::string& state_dir);

}  // namespace muster
