// Writing segments, and reading them beside the writer.
#include "controller/host/journal_files.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace muster {
namespace {

constexpr std::uint64_t kGrowBytes = 1U << 20U;
constexpr std::size_t kReadWindowBytesMin = 64U << 10U;  // A feed often wants but the last batch.
constexpr std::size_t kReadWindowBytesMax = 1U << 20U;

bool is_untouched(const StateFile& file, std::uint64_t size_wanted) {
  const Result<std::uint64_t> size = file.size();
  if (!size || *size != size_wanted) return false;
  std::string start(sizeof(SegmentHeader), '\0');
  const Result<std::size_t> count = file.read_at(start.data(), start.size(), 0);
  return count && *count == start.size() && start.find_first_not_of('\0') == std::string::npos;
}

// A part of a segment in memory, moved on as its records are used up.
class Window {
 public:
  explicit Window(const StateFile& file) : file_(file) {}

  std::string_view bytes() const { return bytes_; }

  Result<void> fill(std::uint64_t offset, std::size_t size) {
    offset_ = offset;
    bytes_.resize(size);
    const Result<std::size_t> count = file_.read_at(bytes_.data(), size, offset);
    bytes_.resize(count ? *count : 0);
    if (!count) return count.error();
    return {};
  }

  // Judges the record at `offset`, reading on when the window ends before it does.
  Result<RecordCheck> check_at(std::uint64_t offset, const RecordChain& chain) {
    MUSTER_ASSERT(offset >= offset_);
    std::string_view rest = bytes_;
    rest.remove_prefix(std::min<std::uint64_t>(offset - offset_, rest.size()));
    RecordCheck check = check_record(rest, chain);
    if (check.state == RecordState::kGood) return check;
    if (Result<void> filled = fill(offset, wanted_); !filled) return filled.error();
    wanted_ = std::min(wanted_ * 2, kReadWindowBytesMax);
    check = check_record(bytes_, chain);
    if (check.state != RecordState::kShort) return check;
    if (Result<void> filled = fill(offset, check.needed); !filled) return filled.error();
    return check_record(bytes_, chain);
  }

 private:
  const StateFile& file_;
  std::size_t wanted_ = kReadWindowBytesMin;
  std::uint64_t offset_ = 0;
  std::string bytes_;
};

}  // namespace

std::string JournalFiles::path_of(std::uint64_t seq_first) const {
  return directory_ + "/" + segment_file_name(seq_first);
}

bool JournalFiles::make_reserve() {
  if (reserve_.is_open()) return true;
  const std::string path = reserve_path();
  if (Result<StateFile> left_over = StateFile::open(path, O_RDWR)) {
    if (is_untouched(*left_over, segment_bytes_)) {
      reserve_ = std::move(*left_over);
      return true;
    }
    ::unlink(path.c_str());
  }
  Result<StateFile> made = StateFile::open(path, O_RDWR | O_CREAT | O_EXCL);
  if (!made) return false;
  if (!made->allocate(0, segment_bytes_, false)) {
    ::unlink(path.c_str());
    return false;
  }
  made->sync();
  reserve_ = std::move(*made);
  return true;
}

bool JournalFiles::write_first(const SegmentHeader& header, std::string_view records) {
  std::string bytes;
  append_segment_header(bytes, header);
  bytes.append(records);
  std::uint64_t allocated = segment_bytes_;
  if (bytes.size() > allocated) {
    if (!reserve_.allocate(allocated, bytes.size() - allocated, false)) return false;
    allocated = bytes.size();
  }
  if (!reserve_.write_at(bytes, 0)) return false;
  reserve_.sync_data();
  const std::string path = path_of(header.seq_first);
  if (std::rename(reserve_.path().c_str(), path.c_str()) != 0) {
    if (errno == ENOSPC || errno == EDQUOT) return false;
    end_on_disk_failure("rename", reserve_.path(), errno);
  }
  sync_directory(directory_);
  current_ = std::move(reserve_);
  reserve_ = StateFile();
  current_.set_path(path);
  offset_ = bytes.size();
  allocated_ = allocated;
  filled_ = offset_;
  chain_ = header.chain();
  const std::lock_guard<std::mutex> lock(list_mutex_);
  if (segments_.empty() || segments_.back() != header.seq_first) {
    segments_.push_back(header.seq_first);
  }
  return true;
}

bool JournalFiles::begin_segment(std::uint64_t epoch) {
  if (!make_reserve()) return false;
  SegmentHeader header;
  header.salt = randombytes_random();
  header.cluster = cluster_.bytes;
  header.seq_first = chain_.seq_next;
  header.previous_crc = chain_.previous_crc;
  header.epoch = epoch;
  const std::uint64_t end = offset_;
  const std::string path = current_.path();
  const bool is_empty = path == path_of(header.seq_first);
  if (is_empty) return true;
  if (!write_first(header, {})) return false;
  if (const Result<StateFile> sealed = StateFile::open(path, O_RDWR)) sealed->truncate(end);
  return true;
}

bool JournalFiles::append(std::string_view records, const RecordChain& chain_after) {
  const std::uint64_t end = offset_ + records.size();
  if (end > allocated_) {
    const std::uint64_t wanted = (end + kGrowBytes - 1) / kGrowBytes * kGrowBytes;
    if (!current_.allocate(allocated_, wanted - allocated_, false)) return false;
    allocated_ = wanted;
  }
  if (!current_.write_filling(records, offset_, allocated_, filled_)) return false;
  current_.sync_data();
  offset_ = end;
  chain_ = chain_after;
  return true;
}

void JournalFiles::remove_below(std::uint64_t seq) {
  const std::lock_guard<std::mutex> lock(list_mutex_);
  while (segments_.size() > 1 && segments_[1] <= seq) {
    ::unlink(path_of(segments_.front()).c_str());
    segments_.erase(segments_.begin());
  }
}

std::uint64_t JournalFiles::bytes_on_disk() const {
  const std::lock_guard<std::mutex> lock(list_mutex_);
  std::uint64_t bytes = 0;
  for (const std::uint64_t seq_first : segments_) {
    struct stat facts {};
    if (::stat(path_of(seq_first).c_str(), &facts) != 0) continue;
    bytes += static_cast<std::uint64_t>(facts.st_blocks) * 512U;
  }
  return bytes;
}

Result<std::uint64_t> JournalFiles::read_from(std::uint64_t seq, std::uint64_t durable_seq,
                                              const Reader& visit) {
  const std::lock_guard<std::mutex> reading(read_mutex_);
  bool is_stopped = false;
  while (seq <= durable_seq && !is_stopped) {
    std::uint64_t limit = durable_seq + 1;
    std::uint64_t segment = 0;
    {
      const std::lock_guard<std::mutex> lock(list_mutex_);
      const auto beyond = std::upper_bound(segments_.begin(), segments_.end(), seq);
      if (beyond == segments_.begin()) {
        return fail(ErrorCode::kNotFound,
                    "journal: record " + std::to_string(seq) + " is not kept any more");
      }
      segment = *(beyond - 1);
      if (beyond != segments_.end()) limit = std::min(limit, *beyond);
    }
    if (mark_.segment != segment || mark_.chain.seq_next > seq) mark_ = {segment, 0, {}};
    Result<std::uint64_t> next = read_part(mark_, seq, limit, visit, is_stopped);
    if (!next) return next;
    seq = *next;
  }
  return seq;
}

Result<std::uint64_t> JournalFiles::read_part(ReadMark& mark, std::uint64_t seq,
                                              std::uint64_t limit, const Reader& visit,
                                              bool& is_stopped) {
  const std::string path = path_of(mark.segment);
  Result<StateFile> file = StateFile::open(path, O_RDONLY);
  if (!file) return file.error();
  Window window(*file);
  if (mark.offset == 0) {
    if (Result<void> filled = window.fill(0, sizeof(SegmentHeader)); !filled) return filled.error();
    const Result<SegmentHeader> header = read_segment_header(window.bytes());
    if (!header) {
      return fail(header.error().code, "journal: " + path + ": " + header.error().message);
    }
    mark.chain = header->chain();
    mark.offset = sizeof(SegmentHeader);
  }
  while (mark.chain.seq_next < limit && !is_stopped) {
    const Result<RecordCheck> check = window.check_at(mark.offset, mark.chain);
    if (!check) return check.error();
    if (check->state != RecordState::kGood) {
      return fail(ErrorCode::kCorrupt,
                  "journal: " + path + ": damaged at offset " + std::to_string(mark.offset));
    }
    mark.offset += check->record.bytes();
    mark.chain = after(mark.chain, check->record);
    if (check->record.header.seq >= seq) is_stopped = !visit(check->record);
  }
  return mark.chain.seq_next;
}

}  // namespace muster
