// Replaying what is sealed.
#include "controller/record/fold.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "base/journal/segment.h"
#include "controller/record/event_codec.h"
#include "controller/record/snapshot_store.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

struct Segment {
  std::uint64_t first = 0;
  std::string path;
};

std::vector<Segment> list_segments(const std::string& directory) {
  std::vector<Segment> segments;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (const auto first = parse_segment_file_name(it->path().filename().string())) {
      segments.push_back({*first, it->path().string()});
    }
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.first < b.first; });
  return segments;
}

Result<std::string> read_whole(const std::string& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return fail(ErrorCode::kUnavailable, path + ": " + error.message());
  if (size > kSegmentFileBytesMax)
    return fail(ErrorCode::kCorrupt, path + ": too long for a segment");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return fail(ErrorCode::kUnavailable, path + ": cannot be read");
  }
  return bytes;
}

class Folder {
 public:
  explicit Folder(LoadedSnapshot start) : state_(std::move(start)) {}

  // Its records up to `last`: what follows was written again to the next segment.
  Result<void> fold(const Segment& segment, std::uint64_t last) {
    const Result<std::string> bytes = read_whole(segment.path);
    if (!bytes) return bytes.error();
    Result<SegmentReader> reader = SegmentReader::open(*bytes);
    if (!reader) return fail(reader.error().code, segment.path + ": " + reader.error().message);
    for (;;) {
      const std::uint64_t offset = reader->offset();
      const std::optional<RecordView> record = reader->next();
      if (!record || record->header.seq > last) break;
      if (record->header.seq <= state_.seq.value) continue;
      if (const Result<void> taken = take(*record); !taken) {
        return fail(taken.error().code, segment.path + ": offset " + std::to_string(offset) + ": " +
                                            taken.error().message);
      }
    }
    if (state_.seq.value >= last) return {};
    return fail(ErrorCode::kCorrupt, segment.path + ": offset " + std::to_string(reader->offset()) +
                                         ": record " + std::to_string(state_.seq.value + 1) +
                                         " is missing");
  }

  const LoadedSnapshot& state() const { return state_; }

 private:
  Result<void> take(const RecordView& view) {
    const Result<Record> record = decode_record(view.payload);
    if (!record) return record.error();
    if (record->seq.value != state_.seq.value + 1) return fail(ErrorCode::kCorrupt, "sequence gap");
    const Stamp stamp{record->seq, record->at, record->wall};
    for (const Event& event : record->events) {
      if (const auto* sealed = std::get_if<SegmentSealed>(&event)) {
        if (sealed->digest != state_.cluster.digest()) {
          return fail(ErrorCode::kCorrupt,
                      "the digest of what the journal says is another than the controller had; "
                      "report this as a bug and keep the state directory");
        }
      }
      state_.cluster.apply(event, stamp);
    }
    state_.seq = record->seq;
    state_.wall = record->wall;
    return {};
  }

  LoadedSnapshot state_;
};

}  // namespace

Result<Folded> fold_journal(const std::string& state_dir) {
  const std::string snapshots = state_dir + "/snapshots";
  Result<std::optional<LoadedSnapshot>> start = load_newest_snapshot(snapshots);
  if (!start) return start.error();
  const Seq from = start->has_value() ? (*start)->seq : Seq{};
  Folder folder(start->has_value() ? *std::move(*start) : LoadedSnapshot{});
  const std::vector<Segment> segments = list_segments(state_dir + "/journal");
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    const std::uint64_t last = segments[i + 1].first - 1;
    if (last <= folder.state().seq.value) continue;
    if (segments[i].first > folder.state().seq.value + 1) {
      return fail(ErrorCode::kCorrupt,
                  segments[i].path + ": records " + std::to_string(folder.state().seq.value + 1) +
                      "-" + std::to_string(segments[i].first - 1) + " are missing before it");
    }
    if (const Result<void> folded = folder.fold(segments[i], last); !folded) return folded.error();
  }
  const Seq to = folder.state().seq;
  if (to == from) return Folded{from, to};
  const LoadedSnapshot& state = folder.state();
  const Result<void> written = write_snapshot(snapshots, state.cluster, to, state.wall);
  if (!written) return written.error();
  return Folded{from, to};
}

}  // namespace muster
