// Offline reading of the journal, by the restart's own rules.
#include "controller/host/journal_cat.h"

#include <cstdio>
#include <functional>
#include <optional>

#include "base/daemon/daemon.h"
#include "controller/core/engine.h"
#include "controller/host/disk.h"
#include "controller/record/event_codec.h"
#include "controller/record/snapshot_store.h"

namespace muster {

namespace {

using Visit = std::function<Result<void>(const Record&)>;

int say(const Error& error) {
  std::fprintf(stderr, "muster-controller: %s\n", error.message.c_str());
  return error.code == ErrorCode::kCorrupt ? kExitData : kExitUnavailable;
}

Result<void> visit_all(const std::string& state_dir, std::optional<std::uint64_t> after,
                       const Visit& visit) {
  const auto read = read_journal(state_dir, after, [&](const RecordView& stored) -> Result<void> {
    const auto record = decode_record(stored.payload);
    if (!record) return record.error();
    return visit(*record);
  });
  if (!read) return read.error();
  if (!read->torn.empty()) {
    std::fprintf(stderr, "muster-controller: note: the next start will cut %s\n",
                 read->torn.c_str());
  }
  return {};
}

// Of the record that seals a segment; null for every other.
const SegmentSealed* seal_in(const Record& record) {
  return record.events.size() == 1 ? std::get_if<SegmentSealed>(&record.events.front()) : nullptr;
}

}  // namespace

int journal_cat(const std::string& state_dir) {
  const auto visited = visit_all(state_dir, std::nullopt, [](const Record& record) -> Result<void> {
    std::printf("%s\n", record_to_json(record).c_str());
    return {};
  });
  return visited ? 0 : say(visited.error());
}

int journal_verify(const std::string& state_dir) {
  Engine engine;
  auto snapshot = load_newest_snapshot(state_dir + "/snapshots");
  if (!snapshot) return say(snapshot.error());
  std::uint64_t after = 0;
  if (snapshot->has_value()) {
    after = (*snapshot)->seq.value;
    engine.load(std::move((*snapshot)->cluster), (*snapshot)->seq);
  }
  std::uint64_t records = 0;
  std::uint64_t digests = 0;
  const auto visited = visit_all(state_dir, after, [&](const Record& record) -> Result<void> {
    ++records;
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
  std::printf("%llu records after %llu, %llu digests compared, %zu jobs, last record %llu: fine\n",
              static_cast<unsigned long long>(records), static_cast<unsigned long long>(after),
              static_cast<unsigned long long>(digests), engine.cluster().jobs().size(),
              static_cast<unsigned long long>(engine.seq_last().value));
  return 0;
}

int state_dump(const std::string& state_dir, const std::string& file,
               std::optional<std::uint64_t> until) {
  Engine engine;
  auto snapshot = load_newest_snapshot(state_dir + "/snapshots");
  if (!snapshot) return say(snapshot.error());
  std::uint64_t after = 0;
  WallTime wall;
  bool rebuilt = false;  // By the last record.
  if (snapshot->has_value()) {
    after = (*snapshot)->seq.value;
    wall = (*snapshot)->wall;
    engine.load(std::move((*snapshot)->cluster), (*snapshot)->seq);
  }
  const auto visited = visit_all(state_dir, after, [&](const Record& record) -> Result<void> {
    if (until && record.seq.value > *until) return {};
    wall = record.wall;
    rebuilt = !record.events.empty() && std::holds_alternative<BoardRebuilt>(record.events.back());
    engine.replay(record);
    return {};
  });
  if (!visited) return say(visited.error());
  if (until && (engine.seq_last().value != *until || !rebuilt)) {
    return say(fail(ErrorCode::kNotFound,
                    state_dir + ": the record " + std::to_string(*until) +
                        " that the controller made for the dump is not to be had in it; name its "
                        "own state directory, or try again"));
  }
  if (engine.seq_last().value == 0)
    return say(fail(ErrorCode::kNotFound, state_dir + ": holds no records"));
  const auto written = write_snapshot_file(file, engine.cluster(), engine.seq_last(), wall);
  if (!written) return say(written.error());
  std::printf("%s: the state after record %llu, %zu jobs\n", file.c_str(),
              static_cast<unsigned long long>(engine.seq_last().value),
              engine.cluster().jobs().size());
  return 0;
}

}  // namespace muster
