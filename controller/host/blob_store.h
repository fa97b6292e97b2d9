// Scripts and environments on disk: content-addressed bytes in append-only pack files.
//
// put() gives a reference at once; the bytes become durable with the next batch of the disk thread,
// before the journal record that names them. Every reference given lies in space that is allocated
// already, so a disk that fills up never strands a blob that was promised.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster {

constexpr std::size_t kBlobBytesMax = 16U << 20U;

struct BlobOptions {
  std::uint64_t pack_bytes = 256ULL << 20U;
  std::uint64_t room_bytes = 32ULL << 20U;  // Kept allocated ahead of what was put.
  std::size_t recent_max = 65536;           // Contents remembered, to store the same only once.
};

class BlobStore {
 public:
  // Makes the directory when absent and begins a new pack. Reads no blob. kUnavailable: the
  // directory cannot be used.
  static Result<std::unique_ptr<BlobStore>> open(const std::string& directory,
                                                 const BlobOptions& options = {});
  ~BlobStore();
  BlobStore(const BlobStore&) = delete;
  BlobStore& operator=(const BlobStore&) = delete;

  // The place of this content, new or stored before. Any thread; may wait for the disk thread to
  // allocate space. kLimit: over kBlobBytesMax. kUnavailable: the state disk is full; nothing was
  // stored.
  Result<BlobRef> put(std::string_view content);

  // The content, checked against its hash. Any thread; of durable blobs only.
  // kNotFound: no such pack. kCorrupt: the bytes are not those that were put. kUnavailable: cannot
  // be read.
  Result<std::string> read(const BlobRef& ref) const;

  // Pack numbers on disk, ascending; the last one is being written.
  std::vector<std::uint32_t> packs() const;
  // From here on put() answers with no reference into this pack, though it may hold the content.
  // Nothing happens to the pack being written. Any thread.
  void retire_pack(std::uint32_t pack);
  // Deletes a retired pack that nothing refers to any more; no put() from before its retirement may
  // be without its record. Nothing happens to a pack that is not retired. Any thread.
  void remove_pack(std::uint32_t pack);

  // ---- for the disk thread ----
  // Writes and syncs everything put so far. False: no space, to be tried again. An I/O error ends
  // the process: what is on disk is unknown then.
  bool flush();
  // Allocates space ahead. False: the disk is full; put() refuses what does not fit into the space
  // allocated before, until this succeeds.
  bool make_room();
  // Called, from any thread, when make_room() should run soon.
  void when_room_wanted(std::function<void()> wake);

 private:
  struct Impl;
  explicit BlobStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
