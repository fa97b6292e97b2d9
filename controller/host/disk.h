// The controller's state directory and the thread that makes records durable.
//
//   open() → recover() → start() → append()…
//
// Whatever is queued while a sync runs goes out together as the next write and fdatasync; an idle
// disk syncs at once. A failed write or sync ends the process with one line: what is on disk is
// unknown then, and only a restart may tell. A full disk does not: records go on into space
// allocated beforehand (the reserve), is_nearly_full() lets the engine refuse what is big, and when
// even the reserve is used up the queue waits and tries again ten times a second.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/journal/segment.h"
#include "base/types/ids.h"
#include "base/types/result.h"
#include "controller/host/blob_store.h"

namespace muster {

struct DiskOptions {
  std::string directory;  // Of all state: holds lock, journal/ and blobs/. Made, with mode 0700,
                          // when absent.
  Uuid cluster;           // All zero: the journal's own, or a random one for a new journal.
  std::uint64_t segment_bytes = kSegmentBytes;  // Also the size of the reserve.
  std::uint64_t segment_seal_bytes = kSegmentSealBytes;
  std::size_t queue_bytes_max = 64U << 20U;     // append() waits when more is queued.
  std::uint64_t free_bytes_min = 64ULL << 20U;  // Less free space counts as nearly full.
  BlobOptions blobs;
  std::function<void(const std::string&)>
      report;  // One line for the log; called on any thread. Default: stderr.
};

struct Recovery {
  Uuid cluster;
  std::uint64_t seq_last = 0;    // 0: a new journal.
  std::uint64_t epoch_last = 0;  // Highest epoch seen in what was read.
  std::uint64_t records = 0;     // Given to the visitor.
  std::string torn;              // What was cut, where; empty when nothing was.
};

// Type and version of a payload, kept in its record's header.
struct RecordKind {
  std::uint16_t type = 1;
  std::uint16_t version = 1;
};

class Disk {
 public:
  // Locks the directory. kConflict: another controller holds it (its pid is named). kUnavailable:
  // cannot be used.
  static Result<std::unique_ptr<Disk>> open(DiskOptions options);
  // Makes what was appended durable when it can, then ends the thread.
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  // Gives every record after `seq_after` (that of the snapshot; 0: none) to `visit`, in order; an
  // error of `visit` is passed on. A torn tail is cut and reported. Once, before start(). kCorrupt:
  // damage in the middle, or missing records: file and offset are named, nothing was changed.
  // kInvalid: written by a newer release. kUnavailable: cannot be read.
  using Visitor = std::function<Result<void>(const RecordView&)>;
  Result<Recovery> recover(std::uint64_t seq_after, const Visitor& visit);

  // Starts the thread. `on_durable` runs on it, after each sync, with the last durable record's
  // number.
  using OnDurable = std::function<void(std::uint64_t seq)>;
  void start(Epoch epoch, OnDurable on_durable);

  // Queues a record; seq must follow the last one. Waits while queue_bytes_max is queued. One
  // thread only.
  void append(std::uint64_t seq, std::string payload, RecordKind kind = {});
  // The next record begins a new segment. Ordered with append(), same thread.
  void rotate();
  // Whether it is time for the engine's last record of this segment, and then rotate(). False while
  // no next segment can be allocated. The appending thread only.
  bool wants_rotation() const;

  bool is_nearly_full() const;          // Any thread. Submits should be refused: "state disk full".
  std::uint64_t durable_seq() const;    // Any thread.
  std::uint64_t bytes_on_disk() const;  // Of journal segments. Any thread.

  // Gives durable records from `seq` on to `visit` until it says false or there are no more;
  // answers the number of the first record not given. Any thread, one at a time; concurrent with
  // append(). Continuing where the last call ended costs nothing extra. kNotFound: `seq` was
  // removed. kCorrupt, kUnavailable as recover().
  using Reader = std::function<bool(const RecordView&)>;
  Result<std::uint64_t> read_from(std::uint64_t seq, const Reader& visit);

  // Deletes segments that hold only records below `seq`. Never the one being written. Any thread.
  void remove_below(std::uint64_t seq);

  BlobStore& blobs();
  std::string snapshot_directory() const;  // <directory>/snapshots, made by open().

 private:
  struct Impl;
  explicit Disk(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Reads the journal of a state directory as recover() does, but takes no lock and changes nothing:
// for checks offline, or beside a running controller. Without `seq_after`: from the first record
// kept. kNotFound: there is no journal.
Result<Recovery> read_journal(const std::string& directory, std::optional<std::uint64_t> seq_after,
                              const Disk::Visitor& visit);

}  // namespace muster
