// The segments of a journal as files: recovery, the one being written, the reserve that becomes the
// next one, and reading beside the writer.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/journal/segment.h"
#include "base/types/ids.h"
#include "base/types/result.h"
#include "controller/host/state_file.h"

namespace muster {

struct Recovery;

// Where one call of read_from ended, so that the next one need not search.
struct ReadMark {
  std::uint64_t segment = 0;  // Its first record; 0: no mark.
  std::uint64_t offset = 0;
  RecordChain chain;
};

// recover() first, then append() and begin_segment() by one thread; read_from() and remove_below()
// by any.
class JournalFiles {
 public:
  using Visitor = std::function<Result<void>(const RecordView&)>;
  using Reader = std::function<bool(const RecordView&)>;

  JournalFiles(std::string directory, std::uint64_t segment_bytes)
      : directory_(std::move(directory)), segment_bytes_(segment_bytes) {}

  // As Disk::recover. The last batch before the end may have been in flight: it is written and
  // synced once more, to a new segment, because pages that a failed sync left behind read well and
  // still are not on the disk.
  Result<void> recover(std::uint64_t seq_after, const Visitor& visit, Recovery& recovery);

  // Reads as recover() does, from the first record kept when `seq_after` is absent; changes
  // nothing.
  Result<void> read_only(std::optional<std::uint64_t> seq_after, const Visitor& visit,
                         Recovery& recovery);

  // Writes and syncs whole records made with chain(). False: no space; the same bytes may be tried
  // again.
  [[nodiscard]] bool append(std::string_view records, const RecordChain& chain_after);
  const RecordChain& chain() const { return chain_; }
  std::uint64_t segment_used() const { return offset_; }

  // Allocates the reserve when there is none. False: no space.
  [[nodiscard]] bool make_reserve();
  bool has_reserve() const { return reserve_.is_open(); }
  // Ends the segment and turns the reserve into the next one. False: there is no reserve and no
  // space for one.
  [[nodiscard]] bool begin_segment(std::uint64_t epoch);

  Result<std::uint64_t> read_from(std::uint64_t seq, std::uint64_t durable_seq,
                                  const Reader& visit);
  void remove_below(std::uint64_t seq);
  std::uint64_t bytes_on_disk() const;

 private:
  struct Tail;
  std::string path_of(std::uint64_t seq_first) const;
  std::string reserve_path() const { return directory_ + "/reserve"; }
  Result<void> list_segments();
  Result<void> read_segments(const Visitor& visit, Tail& tail);
  Result<void> read_segment(std::size_t index, const Visitor& visit, Tail& tail);
  Result<void> check_fit(const std::string& path, const SegmentHeader& header, Tail& tail);
  Result<void> judge(std::size_t index, const SegmentReader& reader, Tail& tail);
  Result<void> begin_after(const Tail& tail);
  bool write_first(const SegmentHeader& header, std::string_view records);
  Result<std::uint64_t> read_part(ReadMark& mark, std::uint64_t seq, std::uint64_t limit,
                                  const Reader& visit, bool& is_stopped);

  const std::string directory_;
  const std::uint64_t segment_bytes_;
  Uuid cluster_;
  StateFile current_;
  StateFile reserve_;
  std::uint64_t offset_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t filled_ = 0;  // Of the current segment: written, be it with zeros.
  RecordChain chain_;

  mutable std::mutex list_mutex_;
  std::vector<std::uint64_t> segments_;  // First records, ascending.
  std::mutex read_mutex_;
  ReadMark mark_;
};

}  // namespace muster
