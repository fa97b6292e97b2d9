// The payload of a snapshot: no bytes may crash the decoder, and a cluster it puts together is
// written and read as the same one. The input is eight bytes of digest, one that says how the rest
// is cut, and the rest.
#include <cstdint>

#include "controller/record/snapshot_codec.h"

namespace muster {
namespace {

constexpr std::size_t kDigestBytes = 8;

std::string payload_of(const Cluster& cluster, WallTime wall) {
  std::string payload;
  const Result<void> encoded = encode_cluster(cluster, wall, [&](std::string_view piece) {
    payload += piece;
    return Result<void>();
  });
  MUSTER_ASSERT(encoded.ok());
  return payload;
}

void decode_in_pieces(std::string_view payload, std::size_t step, std::uint64_t digest) {
  ClusterDecoder decoder;
  for (std::size_t at = 0; at < payload.size(); at += step) {
    if (!decoder.add(payload.substr(at, step))) return;
  }
  Result<Cluster> cluster = decoder.finish(digest);
  if (!cluster) return;
  const std::string written = payload_of(*cluster, decoder.wall());
  ClusterDecoder again;
  MUSTER_ASSERT(again.add(written).ok());
  const Result<Cluster> same = again.finish(digest);
  MUSTER_ASSERT(same.ok() && payload_of(*same, again.wall()) == written);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  if (size <= kDigestBytes) return 0;
  std::uint64_t digest = 0;
  for (std::size_t i = 0; i < kDigestBytes; ++i) digest |= std::uint64_t{data[i]} << (8U * i);
  const std::size_t step = data[kDigestBytes] == 0 ? size : data[kDigestBytes];
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  decode_in_pieces(input.substr(kDigestBytes + 1), step, digest);
  return 0;
}
