// A cluster as the payload of a snapshot file (base/journal): items, each a length of four bytes
// and [type, fields].
#pragma once

#include <functional>
#include <string_view>

#include "base/types/result.h"
#include "controller/core/image.h"

namespace muster {

constexpr std::uint32_t kImageItemBytesMax = 64U << 20U;

// Gives the payload to `sink` piece by piece; its first error ends it.
Result<void> encode_cluster(const Cluster& cluster, WallTime wall,
                            const std::function<Result<void>(std::string_view)>& sink);

// Takes the payload in pieces of any size, in order.
class ClusterDecoder {
 public:
  // kCorrupt for bytes that are no snapshot; kInvalid, naming its number, for an item of a newer
  // release.
  Result<void> add(std::string_view piece);
  Result<Cluster> finish(std::uint64_t digest);
  WallTime wall() const { return image_.wall(); }

 private:
  Result<void> take_items();
  ClusterImage image_;
  std::string pending_;
};

}  // namespace muster
