// What a restart does: read every segment, refuse damage, cut a torn tail, make the last batch
// durable once more.
#include <fcntl.h>
#include <sodium.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "controller/host/disk.h"
#include "controller/host/journal_files.h"

namespace muster {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

Uuid random_uuid() {
  Uuid uuid;
  randombytes_buf(uuid.bytes.data(), uuid.bytes.size());
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0FU) | 0x40U);
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3FU) | 0x80U);
  return uuid;
}

Error corrupt(const std::string& path, const std::string& what) {
  return fail(ErrorCode::kCorrupt, "journal: " + path + ": " + what);
}

Error damage(const std::string& path, const SegmentEnd& end, const std::string& proof) {
  return corrupt(path, "damaged at offset " + std::to_string(end.offset) + ": record " +
                           std::to_string(end.seq_next) + " cannot be read, but " + proof +
                           " proves that it was complete once; restore this file from a backup or "
                           "a standby, nothing was changed");
}

Result<std::string> load(const std::string& path) {
  Result<StateFile> file = StateFile::open(path, O_RDONLY);
  if (!file) return file.error();
  const Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  if (*size > kSegmentFileBytesMax) return corrupt(path, "too large for a segment");
  std::string bytes(*size, '\0');
  const Result<std::size_t> count = file->read_at(bytes.data(), bytes.size(), 0);
  if (!count) return count.error();
  bytes.resize(*count);
  return bytes;
}

}  // namespace

// What is known after the records read so far.
struct JournalFiles::Tail {
  std::uint64_t seq_after = 0;  // Records up to here are not for the visitor.
  RecordChain chain;            // After the last good record.
  bool is_begun = false;        // Whether a segment was read, so that the chain is known.
  std::string bytes;            // Of the segment read last.
  std::uint64_t batch_offset =
      0;  // Its last batch: all that was written after the last known sync.
  std::uint64_t batch_end = 0;
  std::uint64_t batch_durable = 0;
  RecordChain batch_chain;  // Before the batch.
  Recovery* recovery = nullptr;
};

Result<void> JournalFiles::list_segments() {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory_, error);
  std::vector<std::uint64_t> found;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const auto seq = parse_segment_file_name(entries->path().filename().string());
    if (seq) found.push_back(*seq);
  }
  if (error) {
    return fail(ErrorCode::kUnavailable, "cannot list " + directory_ + ": " + error.message());
  }
  std::sort(found.begin(), found.end());
  const std::lock_guard<std::mutex> lock(list_mutex_);
  segments_ = std::move(found);
  return {};
}

Result<void> JournalFiles::recover(std::uint64_t seq_after, const Visitor& visit,
                                   Recovery& recovery) {
  if (Result<void> listed = list_segments(); !listed) return listed;
  Tail tail;
  tail.seq_after = seq_after;
  tail.recovery = &recovery;
  if (segments_.empty()) {
    if (seq_after > 0) {
      return corrupt(directory_, "no segment is here, but a snapshot of record " +
                                     std::to_string(seq_after) +
                                     " is: restore the journal from a backup or a standby");
    }
    if (recovery.cluster == Uuid{}) recovery.cluster = random_uuid();
    cluster_ = recovery.cluster;
  } else if (Result<void> read = read_segments(visit, tail); !read) {
    return read;
  }
  return begin_after(tail);
}

Result<void> JournalFiles::read_only(std::optional<std::uint64_t> seq_after, const Visitor& visit,
                                     Recovery& recovery) {
  if (Result<void> listed = list_segments(); !listed) return listed;
  if (segments_.empty()) {
    return fail(ErrorCode::kNotFound, "no journal segment is in " + directory_);
  }
  Tail tail;
  tail.seq_after = seq_after.value_or(segments_.front() - 1);
  tail.recovery = &recovery;
  return read_segments(visit, tail);
}

Result<void> JournalFiles::read_segments(const Visitor& visit, Tail& tail) {
  const std::uint64_t seq_after = tail.seq_after;
  const auto beyond = std::upper_bound(segments_.begin(), segments_.end(), seq_after + 1);
  if (beyond == segments_.begin()) {
    return corrupt(directory_, "records " + std::to_string(seq_after + 1) + " to " +
                                   std::to_string(segments_.front() - 1) + " are missing");
  }
  const auto first = static_cast<std::size_t>(beyond - segments_.begin()) - 1;
  for (std::size_t index = first; index < segments_.size(); ++index) {
    if (Result<void> read = read_segment(index, visit, tail); !read) return read;
  }
  tail.recovery->seq_last = tail.chain.seq_next - 1;
  if (tail.recovery->seq_last >= seq_after) return {};
  return corrupt(directory_, "ends at record " + std::to_string(tail.recovery->seq_last) +
                                 ", before the snapshot's " + std::to_string(seq_after) +
                                 ": restore it from a backup or a standby");
}

Result<void> JournalFiles::read_segment(std::size_t index, const Visitor& visit, Tail& tail) {
  const std::string path = path_of(segments_[index]);
  Result<std::string> bytes = load(path);
  if (!bytes) return bytes.error();
  tail.bytes = std::move(*bytes);
  Result<SegmentReader> opened = SegmentReader::open(tail.bytes);
  if (!opened) return fail(opened.error().code, "journal: " + path + ": " + opened.error().message);
  SegmentReader& reader = *opened;
  if (Result<void> fits = check_fit(path, reader.header(), tail); !fits) return fits;

  const std::uint64_t limit = index + 1 < segments_.size() ? segments_[index + 1] : kNoLimit;
  tail.batch_offset = reader.offset();
  tail.batch_chain = reader.chain();
  tail.batch_durable = kNoLimit;
  Recovery& recovery = *tail.recovery;
  recovery.epoch_last = std::max(recovery.epoch_last, reader.header().epoch);
  while (reader.chain().seq_next < limit) {
    const std::uint64_t offset = reader.offset();
    const RecordChain before = reader.chain();
    const std::optional<RecordView> record = reader.next();
    if (!record) break;
    if (record->header.durable_seq != tail.batch_durable) {
      tail.batch_durable = record->header.durable_seq;
      tail.batch_offset = offset;
      tail.batch_chain = before;
    }
    recovery.epoch_last = std::max(recovery.epoch_last, record->header.epoch);
    if (record->header.seq <= tail.seq_after) continue;
    ++recovery.records;
    if (Result<void> visited = visit(*record); !visited) return visited;
  }
  tail.batch_end = reader.offset();
  tail.chain = reader.chain();
  if (tail.chain.seq_next == limit) return {};
  return judge(index, reader, tail);
}

Result<void> JournalFiles::check_fit(const std::string& path, const SegmentHeader& header,
                                     Tail& tail) {
  Uuid cluster;
  cluster.bytes = header.cluster;
  Uuid& wanted = tail.recovery->cluster;
  if (wanted == Uuid{}) wanted = cluster;
  cluster_ = wanted;
  if (cluster != wanted) {
    return corrupt(path, "belongs to cluster " + to_text(cluster) + ", not to " + to_text(wanted));
  }
  if (path != path_of(header.seq_first)) {
    return corrupt(path,
                   "holds records from " + std::to_string(header.seq_first) + ": it was renamed");
  }
  if (tail.is_begun && header.previous_crc != tail.chain.previous_crc) {
    return corrupt(path, "does not follow the segment before it");
  }
  tail.is_begun = true;
  return {};
}

Result<void> JournalFiles::judge(std::size_t index, const SegmentReader& reader, Tail& tail) {
  const std::string path = path_of(segments_[index]);
  const SegmentEnd& end = reader.end();
  if (index + 1 < segments_.size()) {
    return damage(path, end,
                  "the next segment, from record " + std::to_string(segments_[index + 1]) + " on,");
  }
  if (end.kind == SegmentEndKind::kDamaged) {
    return damage(path, end,
                  "record " + std::to_string(end.seq_proof) + " at offset " +
                      std::to_string(end.offset_proof));
  }
  if (end.kind == SegmentEndKind::kTorn) {
    tail.recovery->torn = "journal: " + path + ": torn tail cut at offset " +
                          std::to_string(end.offset) + ", after record " +
                          std::to_string(end.seq_next - 1) +
                          ": it never was synced, so nothing of it was acknowledged";
  }
  return {};
}

Result<void> JournalFiles::begin_after(const Tail& tail) {
  if (!make_reserve()) {
    return fail(ErrorCode::kUnavailable, "state disk full: " + directory_ + " needs " +
                                             std::to_string(segment_bytes_) +
                                             " bytes for the next journal segment");
  }
  SegmentHeader header;
  header.salt = randombytes_random();
  header.cluster = cluster_.bytes;
  header.seq_first = tail.batch_chain.seq_next;
  header.previous_crc = tail.batch_chain.previous_crc;
  header.epoch = tail.recovery->epoch_last;
  RecordChain chain = header.chain();
  std::string records;
  RecordChain old_chain = tail.batch_chain;
  for (std::uint64_t at = tail.batch_offset; at < tail.batch_end;) {
    const RecordCheck check = check_record(std::string_view(tail.bytes).substr(at), old_chain);
    MUSTER_ASSERT(check.state == RecordState::kGood);
    const RecordHeader& old = check.record.header;
    append_record(records, {old.seq, old.epoch, header.seq_first - 1, old.type, old.version},
                  check.record.payload, chain);
    old_chain = after(old_chain, check.record);
    at += check.record.bytes();
  }
  const std::string old_path = segments_.empty() ? std::string() : path_of(segments_.back());
  if (!write_first(header, records)) {
    return fail(ErrorCode::kUnavailable,
                "state disk full: cannot begin a segment in " + directory_);
  }
  chain_ = chain;
  if (old_path.empty() || old_path == current_.path()) return {};
  // The copy is on disk: the old tail, torn or not, has no reader any more.
  const Result<StateFile> old_file = StateFile::open(old_path, O_RDWR);
  if (old_file) old_file->truncate(tail.batch_offset);
  return {};
}

Result<Recovery> read_journal(const std::string& directory, std::optional<std::uint64_t> seq_after,
                              const Disk::Visitor& visit) {
  Recovery recovery;
  JournalFiles files(directory + "/journal", kSegmentBytes);
  if (Result<void> read = files.read_only(seq_after, visit, recovery); !read) return read.error();
  return recovery;
}

}  // namespace muster
