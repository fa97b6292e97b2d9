// Writing and reading snapshot files.
#include "base/journal/snapshot.h"

#include <algorithm>

#include "base/journal/crc32c.h"

namespace muster {
namespace {

template <class Fixed>
std::string_view bytes_of(const Fixed& fixed) {
  return {reinterpret_cast<const char*>(&fixed), sizeof(fixed)};
}

std::uint32_t crc_of(SnapshotHeader header) {
  header.crc = 0;
  return crc32c(0, bytes_of(header));
}

std::uint32_t crc_of(std::uint32_t seed, std::uint32_t size, std::string_view payload) {
  return crc32c(crc32c(seed, bytes_of(size)), payload);
}

std::uint32_t crc_of(std::uint32_t seed, SnapshotFooter footer) {
  footer.crc = 0;
  return crc32c(seed, bytes_of(footer));
}

}  // namespace

SnapshotWriter::SnapshotWriter(const SnapshotLabel& label, Sink sink) : sink_(std::move(sink)) {
  header_.label = label;
  header_.crc = crc_of(header_);
  crc_ = header_.crc;
}

Result<void> SnapshotWriter::write_chunk(std::string_view payload) {
  if (!is_begun_) {
    is_begun_ = true;
    if (Result<void> written = sink_(bytes_of(header_)); !written) return written;
  }
  SnapshotChunk chunk;
  chunk.size = static_cast<std::uint32_t>(payload.size());
  chunk.crc = crc_of(crc_, chunk.size, payload);
  crc_ = chunk.crc;
  if (Result<void> written = sink_(bytes_of(chunk)); !written) return written;
  if (payload.empty()) return {};
  footer_.payload_bytes += payload.size();
  ++footer_.chunks;
  return sink_(payload);
}

Result<void> SnapshotWriter::add(std::string_view payload) {
  while (!payload.empty()) {
    const std::size_t taken = std::min(payload.size(), kSnapshotChunkBytes - pending_.size());
    pending_.append(payload.substr(0, taken));
    payload.remove_prefix(taken);
    if (pending_.size() < kSnapshotChunkBytes) return {};
    if (Result<void> written = write_chunk(pending_); !written) return written;
    pending_.clear();
  }
  return {};
}

Result<void> SnapshotWriter::finish() {
  if (!pending_.empty()) {
    if (Result<void> written = write_chunk(pending_); !written) return written;
    pending_.clear();
  }
  if (Result<void> written = write_chunk({}); !written) return written;
  footer_.crc = crc_of(crc_, footer_);
  return sink_(bytes_of(footer_));
}

Error SnapshotReader::damaged(const std::string& what) const {
  return fail(ErrorCode::kCorrupt, what + " at offset " + std::to_string(offset_));
}

Result<void> SnapshotReader::read_exactly(char* into, std::size_t size) {
  Result<std::size_t> count = source_(into, size);
  if (!count) return count.error();
  if (*count != size) return damaged("snapshot cut short after this point:");
  return {};
}

Result<SnapshotReader> SnapshotReader::open(Source source) {
  SnapshotReader reader(std::move(source));
  SnapshotHeader& header = reader.header_;
  const auto magic = header.magic;
  if (Result<void> read = reader.read_exactly(reinterpret_cast<char*>(&header), sizeof(header));
      !read) {
    return read.error();
  }
  if (header.magic != magic) return reader.damaged("not a snapshot (wrong magic)");
  if (header.crc != crc_of(header)) return reader.damaged("snapshot header damaged (checksum)");
  if (header.version > kSnapshotVersion) {
    return fail(ErrorCode::kInvalid,
                "written by a newer release (snapshot version " + std::to_string(header.version) +
                    ", this release reads up to " + std::to_string(kSnapshotVersion) + ")");
  }
  reader.crc_ = header.crc;
  reader.offset_ = sizeof(header);
  return reader;
}

Result<std::string_view> SnapshotReader::next() {
  if (is_complete_) return std::string_view();
  SnapshotChunk chunk;
  if (Result<void> read = read_exactly(reinterpret_cast<char*>(&chunk), sizeof(chunk)); !read)
    return read.error();
  if (chunk.size > kSnapshotChunkBytes) return damaged("snapshot chunk damaged (size)");
  chunk_.resize(chunk.size);
  if (Result<void> read = read_exactly(chunk_.data(), chunk_.size()); !read) return read.error();
  if (chunk.crc != crc_of(crc_, chunk.size, chunk_))
    return damaged("snapshot chunk damaged (checksum)");
  crc_ = chunk.crc;
  offset_ += sizeof(chunk) + chunk.size;
  if (chunk.size == 0) return read_footer();
  seen_.payload_bytes += chunk.size;
  ++seen_.chunks;
  return std::string_view(chunk_);
}

Result<std::string_view> SnapshotReader::read_footer() {
  SnapshotFooter footer;
  if (Result<void> read = read_exactly(reinterpret_cast<char*>(&footer), sizeof(footer)); !read)
    return read.error();
  if (footer.crc != crc_of(crc_, footer) || footer.payload_bytes != seen_.payload_bytes ||
      footer.chunks != seen_.chunks) {
    return damaged("snapshot footer damaged");
  }
  offset_ += sizeof(footer);
  char beyond = 0;
  Result<std::size_t> more = source_(&beyond, 1);
  if (!more) return more.error();
  if (*more != 0) return damaged("bytes follow the end of the snapshot");
  is_complete_ = true;
  return std::string_view();
}

std::string snapshot_file_name(std::uint64_t seq) {
  const std::string digits = std::to_string(seq);
  return "snapshot-" + std::string(20 - digits.size(), '0') + digits;
}

}  // namespace muster
