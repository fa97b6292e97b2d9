// Items to bytes and back.
#include "controller/record/snapshot_codec.h"

#include <cstring>

#include "base/message/codec.h"

namespace muster {
namespace {

constexpr std::size_t kPieceBytes = 1U << 20U;
constexpr std::size_t kLengthBytes = 4;
const DecodeLimits kItemLimits{kImageItemBytesMax, 1000000, 1024, 32U << 20U, 32};

void append_item(std::string& out, const ImageItem& item) {
  const std::size_t start = out.size();
  out.append(kLengthBytes, '\0');
  Packer packer(out);
  std::visit(
      [&](const auto& body) {
        packer.array(2);
        packer.unsigned_integer(static_cast<std::uint64_t>(body.kType));
        encode(body, out);
      },
      item);
  const std::uint64_t size = out.size() - start - kLengthBytes;
  MUSTER_ASSERT(size <= kImageItemBytesMax);
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    out[start + i] = static_cast<char>(size >> (8U * i));
}

std::uint32_t length_at(std::string_view bytes) {
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    size |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8U * i);
  }
  return size;
}

template <std::size_t I = 0>
Result<ImageItem> decode_body(std::uint64_t type, ValueView body) {
  if constexpr (I == std::variant_size_v<ImageItem>) {
    return fail(ErrorCode::kInvalid,
                "snapshot: item type " + std::to_string(type) +
                    " is unknown to this release; start the release that wrote it, or a newer one");
  } else {
    using Item = std::variant_alternative_t<I, ImageItem>;
    if (type != static_cast<std::uint64_t>(Item::kType)) return decode_body<I + 1>(type, body);
    Result<Item> item = decode<Item>(body);
    if (!item) return fail(ErrorCode::kCorrupt, "snapshot: " + item.error().message);
    return ImageItem(*std::move(item));
  }
}

Result<ImageItem> decode_item(std::string_view bytes) {
  const Result<Decoded> decoded = Decoded::parse(bytes, kItemLimits);
  if (!decoded) return fail(ErrorCode::kCorrupt, "snapshot: " + decoded.error().message);
  const ValueView root = decoded->root();
  std::uint64_t type = 0;
  if (!root.is_array() || root.size() != 2 || !root.item(0).read(type)) {
    return fail(ErrorCode::kCorrupt, "snapshot: bad item");
  }
  return decode_body(type, root.item(1));
}

}  // namespace

Result<void> encode_cluster(const Cluster& cluster, WallTime wall,
                            const std::function<Result<void>(std::string_view)>& sink) {
  std::string piece;
  Result<void> result;
  ClusterImage::take_apart(cluster, wall, [&](const ImageItem& item) {
    if (!result) return;
    append_item(piece, item);
    if (piece.size() < kPieceBytes) return;
    result = sink(piece);
    piece.clear();
  });
  if (!result || piece.empty()) return result;
  return sink(piece);
}

Result<void> ClusterDecoder::add(std::string_view piece) {
  pending_.append(piece);
  return take_items();
}

Result<void> ClusterDecoder::take_items() {
  std::string_view rest = pending_;
  while (rest.size() >= kLengthBytes) {
    const std::uint32_t size = length_at(rest);
    if (size > kImageItemBytesMax) return fail(ErrorCode::kCorrupt, "snapshot: item too long");
    if (rest.size() - kLengthBytes < size) break;
    Result<ImageItem> item = decode_item(rest.substr(kLengthBytes, size));
    if (!item) return item.error();
    if (const Result<void> added = image_.add(*std::move(item)); !added) return added;
    rest.remove_prefix(kLengthBytes + size);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return {};
}

Result<Cluster> ClusterDecoder::finish(std::uint64_t digest) {
  if (!pending_.empty()) return fail(ErrorCode::kCorrupt, "snapshot: ends within an item");
  return image_.finish(digest);
}

}  // namespace muster
