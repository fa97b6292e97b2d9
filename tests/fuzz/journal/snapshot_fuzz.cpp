// Snapshots: no bytes may crash the reader, and no edit of a sound one may be read as complete
// unless it says the same.
#include "base/journal/snapshot.h"
#include "tests/fuzz/journal/edits.h"

namespace muster {
namespace {

std::string sound_snapshot(const std::string& payload) {
  std::string file;
  SnapshotLabel label;
  label.seq = 7;
  SnapshotWriter writer(label, [&file](std::string_view bytes) {
    file.append(bytes);
    return Result<void>();
  });
  MUSTER_ASSERT(writer.add(payload).ok() && writer.finish().ok());
  return file;
}

// The payload, or nothing when it is not a whole snapshot.
bool read_snapshot(std::string_view file, std::string& payload) {
  Result<SnapshotReader> reader = SnapshotReader::open(
      [file, at = std::size_t{0}](char* into, std::size_t size) mutable -> Result<std::size_t> {
        const std::size_t count = std::min(size, file.size() - at);
        std::copy_n(file.data() + at, count, into);
        at += count;
        return count;
      });
  if (!reader) return false;
  while (true) {
    const Result<std::string_view> piece = reader->next();
    if (!piece) return false;
    if (piece->empty()) return true;
    payload.append(*piece);
  }
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  std::string payload;
  static_cast<void>(read_snapshot(input, payload));
  Digits digits(input);
  const std::string written(digits.below(5000), 'p');
  std::string file = sound_snapshot(written);
  edit(file, digits);
  payload.clear();
  if (read_snapshot(file, payload)) MUSTER_ASSERT(payload == written);
  return 0;
}
