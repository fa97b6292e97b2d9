// Offline reading of segments.
#include "controller/host/journal_cat.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

#include "base/daemon/daemon.h"
#include "base/journal/segment.h"
#include "controller/core/engine.h"
#include "controller/record/event_codec.h"
#include "controller/record/snapshot_store.h"

namespace muster {

namespace {

using Visit = std::function<Result<void>(const Record&)>;

int say(const Error& error) {
  std::fprintf(stderr, "muster-controller: %s\n", error.message.c_str());
  return error.code == ErrorCode::kCorrupt ? kExitData : kExitUnavailable;
}

Result<std::vector<std::filesystem::path>> segment_files(const std::string& state_dir) {
  const std::filesystem::path directory = std::filesystem::path(state_dir) / "journal";
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    if (parse_segment_file_name(entry.path().filename().string()).has_value())
      files.push_back(entry.path());
  }
  if (problem) return fail(ErrorCode::kUnavailable, directory.string() + ": " + problem.message());
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> visit_segment(const std::filesystem::path& path, bool is_last, const Visit& visit) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const std::string text = bytes.str();
  auto reader = SegmentReader::open(text);
  if (!reader) return fail(reader.error().code, path.string() + ": " + reader.error().message);
  while (const auto stored = reader->next()) {
    const auto record = decode_record(stored->payload);
    if (!record) return fail(record.error().code, path.string() + ": " + record.error().message);
    if (const auto visited = visit(*record); !visited) return visited;
  }
  const SegmentEnd& end = reader->end();
  const std::string where = path.string() + ": offset " + std::to_string(end.offset);
  if (end.kind == SegmentEndKind::kDamaged || (end.kind == SegmentEndKind::kTorn && !is_last)) {
    return fail(ErrorCode::kCorrupt,
                where + ": record " + std::to_string(end.seq_next) + " is damaged");
  }
  if (end.kind == SegmentEndKind::kTorn)
    std::fprintf(stderr, "%s: a torn tail, cut at the next start\n", where.c_str());
  return {};
}

Result<void> visit_all(const std::string& state_dir, const Visit& visit) {
  const auto files = segment_files(state_dir);
  if (!files) return files.error();
  for (const auto& path : *files) {
    if (const auto visited = visit_segment(path, path == files->back(), visit); !visited)
      return visited;
  }
  return {};
}

// Of the record that seals a segment; null for every other.
const SegmentSealed* seal_in(const Record& record) {
  return record.events.size() == 1 ? std::get_if<SegmentSealed>(&record.events.front()) : nullptr;
}

}  // namespace

int journal_cat(const std::string& state_dir) {
  const auto visited = visit_all(state_dir, [](const Record& record) -> Result<void> {
    std::printf("%s\n", record_to_json(record).c_str());
    return {};
  });
  return visited ? 0 : say(visited.error());
}

int journal_verify(const std::string& state_dir) {
  Engine engine;
  auto snapshot = load_newest_snapshot(state_dir + "/snapshots");
  if (!snapshot) return say(snapshot.error());
  Seq after;
  if (snapshot->has_value()) {
    after = (*snapshot)->seq;
    engine.load(std::move((*snapshot)->cluster), after);
  }
  std::uint64_t records = 0;
  std::uint64_t digests = 0;
  const auto visited = visit_all(state_dir, [&](const Record& record) -> Result<void> {
    ++records;
    if (record.seq <= after) return {};
    const SegmentSealed* seal = seal_in(record);
    if (seal != nullptr && seal->digest != engine.cluster().digest()) {
      return fail(ErrorCode::kCorrupt,
                  "record " + std::to_string(record.seq.value) + ": the state's digest differs");
    }
    digests += seal == nullptr ? 0 : 1;
    engine.replay(record);
    return {};
  });
  if (!visited) return say(visited.error());
  std::printf("%llu records, %llu digests compared, %zu jobs, last record %llu: fine\n",
              static_cast<unsigned long long>(records), static_cast<unsigned long long>(digests),
              engine.cluster().jobs().size(),
              static_cast<unsigned long long>(engine.seq_last().value));
  return 0;
}

}  // namespace muster
