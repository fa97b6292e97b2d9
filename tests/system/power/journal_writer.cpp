// A small program on the real disk thread, for tests that kill it or cut its power.
//
//   journal_writer write DIR ACKED COUNT   appends COUNT records (0: without end), telling ACKED
//   what is durable journal_writer check DIR ACKED         recovers; exit 1 when an acknowledged
//   record or its blob is not as written
//
// ACKED is a file on another disk: the highest acknowledged number, 8 bytes. Built a second time as
// journal_writer_unsynced, whose fsync and fdatasync do nothing: the tests must catch that one.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "controller/host/disk.h"

#ifdef MUSTER_TEST_UNSYNCED
extern "C" {
int __wrap_fsync(int) { return 0; }
int __wrap_fdatasync(int) { return 0; }
}
#endif

namespace muster {
namespace {

constexpr std::uint64_t kBlobEvery = 7;
constexpr std::uint64_t kInFlightMax = 2000;

DiskOptions options_for(const char* directory) {
  DiskOptions options;
  options.directory = directory;
  options.segment_bytes = 1U << 20U;
  options.segment_seal_bytes = 256U << 10U;
  options.free_bytes_min = 0;
  options.blobs.pack_bytes = 8U << 20U;
  options.blobs.room_bytes = 1U << 20U;
  return options;
}

std::string text_of(std::uint64_t seq) {
  std::string text = "record " + std::to_string(seq) + " ";
  const std::size_t size = (seq * 2654435761U) % 400;
  if (text.size() < size) text.resize(size, static_cast<char>('a' + seq % 26));
  return text;
}

std::string script_of(std::uint64_t seq) { return "#!/bin/sh\n# " + text_of(seq) + text_of(seq); }

// The text, then the reference of a blob when the record has one.
std::string payload_of(std::uint64_t seq, BlobStore& blobs) {
  std::string payload = text_of(seq);
  if (seq % kBlobEvery != 0) return payload;
  Result<BlobRef> ref = blobs.put(script_of(seq));
  if (!ref) {
    std::fprintf(stderr, "put: %s\n", ref.error().message.c_str());
    std::_Exit(3);
  }
  payload.append(reinterpret_cast<const char*>(&ref->pack), sizeof(ref->pack));
  payload.append(reinterpret_cast<const char*>(&ref->offset), sizeof(ref->offset));
  payload.append(reinterpret_cast<const char*>(ref->hash.bytes.data()), ref->hash.bytes.size());
  return payload;
}

bool is_as_written(const RecordView& record, const BlobStore& blobs) {
  const std::uint64_t seq = record.header.seq;
  const std::string text = text_of(seq);
  if (record.payload.substr(0, text.size()) != text) return false;
  std::string_view rest = record.payload.substr(text.size());
  if (seq % kBlobEvery != 0) return rest.empty();
  BlobRef ref;
  if (rest.size() != sizeof(ref.pack) + sizeof(ref.offset) + sizeof(ref.hash)) return false;
  std::memcpy(&ref.pack, rest.data(), sizeof(ref.pack));
  std::memcpy(&ref.offset, rest.data() + sizeof(ref.pack), sizeof(ref.offset));
  std::memcpy(ref.hash.bytes.data(), rest.data() + sizeof(ref.pack) + sizeof(ref.offset),
              ref.hash.bytes.size());
  ref.size = static_cast<std::uint32_t>(script_of(seq).size());
  const Result<std::string> script = blobs.read(ref);
  if (script.ok() && *script == script_of(seq)) return true;
  std::fprintf(stderr, "record %llu: %s\n", static_cast<unsigned long long>(seq),
               script.ok() ? "wrong blob" : script.error().message.c_str());
  return false;
}

std::unique_ptr<Disk> open_disk(const char* directory) {
  Result<std::unique_ptr<Disk>> disk = Disk::open(options_for(directory));
  if (disk) return std::move(*disk);
  std::fprintf(stderr, "open: %s\n", disk.error().message.c_str());
  std::_Exit(2);
}

Recovery recover(Disk& disk) {
  std::uint64_t seq = 0;
  const Result<Recovery> recovery = disk.recover(0, [&](const RecordView& record) -> Result<void> {
    if (record.header.seq == ++seq && is_as_written(record, disk.blobs())) return {};
    return fail(ErrorCode::kCorrupt, "record " + std::to_string(seq) + " is not as written");
  });
  if (recovery) return *recovery;
  std::fprintf(stderr, "recover: %s\n", recovery.error().message.c_str());
  std::_Exit(1);
}

int write_records(const char* directory, const char* acked_path, std::uint64_t count) {
  const int acked = ::open(acked_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (acked < 0) return 2;
  const std::unique_ptr<Disk> disk = open_disk(directory);
  const Recovery recovery = recover(*disk);
  disk->start(Epoch{recovery.epoch_last + 1}, [acked](std::uint64_t seq) {
    // By write, not pwrite: the tests count the journal's own pwrites.
    if (::lseek(acked, 0, SEEK_SET) != 0 || ::write(acked, &seq, sizeof(seq)) != sizeof(seq)) {
      std::abort();
    }
  });
  const std::uint64_t last = count == 0 ? UINT64_MAX : recovery.seq_last + count;
  for (std::uint64_t seq = recovery.seq_last + 1; seq <= last; ++seq) {
    disk->append(seq, payload_of(seq, disk->blobs()));
    const bool is_paced =
        count != 0 && seq % 3 == 0;  // Small counts: several batches all the same.
    while (disk->durable_seq() + (is_paced ? 0 : kInFlightMax) < seq) ::usleep(20);
    if (disk->wants_rotation() || (count != 0 && seq % 10 == 0)) disk->rotate();
  }
  return 0;
}

int check(const char* directory, const char* acked_path) {
  std::uint64_t acked = 0;
  if (const int file = ::open(acked_path, O_RDONLY | O_CLOEXEC); file >= 0) {
    if (::read(file, &acked, sizeof(acked)) != sizeof(acked)) acked = 0;
    ::close(file);
  }
  const std::unique_ptr<Disk> disk = open_disk(directory);
  const Recovery recovery = recover(*disk);
  std::printf("acked %llu recovered %llu%s\n", static_cast<unsigned long long>(acked),
              static_cast<unsigned long long>(recovery.seq_last),
              recovery.torn.empty() ? "" : " torn");
  return recovery.seq_last >= acked ? 0 : 1;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "write" && argc == 5) {
    return muster::write_records(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10));
  }
  if (verb == "check" && argc == 4) return muster::check(argv[2], argv[3]);
  std::fprintf(stderr, "usage: journal_writer write DIR ACKED COUNT | check DIR ACKED\n");
  return 64;
}
