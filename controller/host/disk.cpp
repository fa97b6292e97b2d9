// The disk thread: group commit, rotation, and waiting out a full disk.
#include "controller/host/disk.h"

#include <sodium.h>
#include <sys/statvfs.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "controller/host/journal_files.h"
#include "controller/host/state_file.h"

namespace muster {
namespace {

constexpr std::chrono::milliseconds kFullDiskRetry(100);
// One sync covers so much at most: a restart writes the last batch once more.
constexpr std::size_t kBatchBytesMax = 8U << 20U;
constexpr std::size_t kBatchBytesKept = 4U << 20U;  // Of the buffer, between batches.

// What the queue holds, in order: a record, or the begin of a new segment.
struct Queued {
  bool is_rotation = false;
  std::uint64_t seq = 0;
  RecordKind kind;
  std::string payload;
  std::size_t bytes() const { return sizeof(RecordHeader) + payload.size(); }
};

}  // namespace

struct Disk::Impl {
  explicit Impl(DiskOptions wanted)
      : options(std::move(wanted)), files(options.directory + "/journal", options.segment_bytes) {}

  void run();
  bool write(const std::vector<Queued>& entries);
  bool write_records(const std::vector<Queued>& entries, std::size_t first, std::size_t end);
  void check_space();
  template <class Attempt>
  bool keep_trying(const char* what, const Attempt& attempt);

  DiskOptions options;
  StateFile lock;
  std::unique_ptr<BlobStore> blobs;
  JournalFiles files;
  Epoch epoch;
  OnDurable on_durable;
  std::string batch;

  std::atomic<std::uint64_t> durable_seq{0};
  std::atomic<bool> is_nearly_full{false};
  std::atomic<bool> has_reserve{false};

  // Of the appending thread.
  std::uint64_t seq_last = 0;
  std::uint64_t segment_queued = 0;

  std::mutex mutex;  // Of all below.
  std::condition_variable work;
  std::condition_variable taken;
  std::vector<Queued> queue;
  std::size_t queue_bytes = 0;
  bool is_room_wanted = false;
  bool is_stopping = false;
  std::thread thread;
};

Disk::Disk(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Disk>> Disk::open(DiskOptions options) {
  if (sodium_init() < 0) return fail(ErrorCode::kUnavailable, "libsodium cannot start");
  if (!options.report) {
    options.report = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  }
  const std::string directory = options.directory;
  for (const char* folder : {"", "/journal", "/snapshots"}) {
    if (Result<void> made = make_directory(directory + folder); !made) return made.error();
  }
  Result<StateFile> lock = lock_state(directory);
  if (!lock) return lock.error();
  Result<std::unique_ptr<BlobStore>> blobs = BlobStore::open(directory + "/blobs", options.blobs);
  if (!blobs) return blobs.error();
  auto impl = std::make_unique<Impl>(std::move(options));
  impl->lock = std::move(*lock);
  impl->blobs = std::move(*blobs);
  return std::unique_ptr<Disk>(new Disk(std::move(impl)));
}

Disk::~Disk() {
  impl_->blobs->when_room_wanted({});
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->is_stopping = true;
    impl_->work.notify_all();
    impl_->taken.notify_all();
  }
  if (impl_->thread.joinable()) impl_->thread.join();
}

Result<Recovery> Disk::recover(std::uint64_t seq_after, const Visitor& visit) {
  Recovery recovery;
  recovery.cluster = impl_->options.cluster;
  if (Result<void> done = impl_->files.recover(seq_after, visit, recovery); !done) {
    return done.error();
  }
  if (!recovery.torn.empty()) impl_->options.report(recovery.torn);
  impl_->seq_last = recovery.seq_last;
  impl_->segment_queued = impl_->files.segment_used();
  impl_->durable_seq = recovery.seq_last;
  impl_->check_space();
  return recovery;
}

void Disk::start(Epoch epoch, OnDurable on_durable) {
  Impl& impl = *impl_;
  MUSTER_ASSERT(!impl.thread.joinable());
  MUSTER_ASSERT(impl.files.segment_used() > 0);  // recover() comes first.
  impl.epoch = epoch;
  impl.on_durable = std::move(on_durable);
  impl.blobs->when_room_wanted([&impl] {
    const std::lock_guard<std::mutex> lock(impl.mutex);
    impl.is_room_wanted = true;
    impl.work.notify_one();
  });
  impl.thread = std::thread([&impl] { impl.run(); });
}

void Disk::append(std::uint64_t seq, std::string payload, RecordKind kind) {
  Impl& impl = *impl_;
  MUSTER_ASSERT(seq == impl.seq_last + 1);
  MUSTER_ASSERT(payload.size() <= kRecordBytesMax);
  impl.seq_last = seq;
  Queued entry{false, seq, kind, std::move(payload)};
  const std::size_t bytes = entry.bytes();
  impl.segment_queued += bytes;
  std::unique_lock<std::mutex> lock(impl.mutex);
  while (!impl.queue.empty() && impl.queue_bytes + bytes > impl.options.queue_bytes_max) {
    impl.taken.wait(lock);
  }
  const bool was_empty = impl.queue.empty();
  impl.queue.push_back(std::move(entry));
  impl.queue_bytes += bytes;
  lock.unlock();
  if (was_empty) impl.work.notify_one();
}

void Disk::rotate() {
  impl_->segment_queued = sizeof(SegmentHeader);
  impl_->has_reserve = false;  // It is spoken for.
  Queued entry;
  entry.is_rotation = true;
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->queue.push_back(std::move(entry));
  impl_->work.notify_one();
}

bool Disk::wants_rotation() const {
  return impl_->segment_queued >= impl_->options.segment_seal_bytes && impl_->has_reserve;
}

bool Disk::is_nearly_full() const { return impl_->is_nearly_full; }
std::uint64_t Disk::durable_seq() const { return impl_->durable_seq; }
std::uint64_t Disk::bytes_on_disk() const { return impl_->files.bytes_on_disk(); }

Result<std::uint64_t> Disk::read_from(std::uint64_t seq, const Reader& visit) {
  return impl_->files.read_from(seq, impl_->durable_seq, visit);
}

void Disk::remove_below(std::uint64_t seq) { impl_->files.remove_below(seq); }
BlobStore& Disk::blobs() { return *impl_->blobs; }
std::string Disk::snapshot_directory() const { return impl_->options.directory + "/snapshots"; }

void Disk::Impl::run() {
  std::vector<Queued> entries;
  while (true) {
    {
      std::unique_lock<std::mutex> guard(mutex);
      const auto has_work = [this] { return !queue.empty() || is_room_wanted || is_stopping; };
      // Only a full disk needs a clock: to notice when space is back.
      if (is_nearly_full) {
        work.wait_for(guard, kFullDiskRetry, has_work);
      } else {
        work.wait(guard, has_work);
      }
      if (queue.empty() && is_stopping) return;
      entries.clear();
      entries.swap(queue);
      queue_bytes = 0;
      is_room_wanted = false;
      taken.notify_all();
    }
    // Blobs first: no record may name bytes that are not on disk.
    if (!keep_trying("blobs", [this] { return blobs->flush(); })) return;
    if (!write(entries)) return;
    check_space();
  }
}

// Tries until there is space. False: the process is stopping, and what waits was never
// acknowledged.
template <class Attempt>
bool Disk::Impl::keep_trying(const char* what, const Attempt& attempt) {
  if (attempt()) return true;
  is_nearly_full = true;
  options.report(std::string("state disk full: ") + what + " wait for space in " +
                 options.directory + "; free some, nothing is lost");
  while (true) {
    {
      std::unique_lock<std::mutex> guard(mutex);
      if (work.wait_for(guard, kFullDiskRetry, [this] { return is_stopping; })) return false;
    }
    if (attempt()) break;
  }
  options.report("state disk: there is space again in " + options.directory);
  return true;
}

bool Disk::Impl::write(const std::vector<Queued>& entries) {
  std::size_t first = 0;
  while (first < entries.size()) {
    if (entries[first].is_rotation) {
      const auto begin = [this] { return files.begin_segment(epoch.value); };
      if (!keep_trying("records", begin)) return false;
      ++first;
      continue;
    }
    std::size_t end = first;
    std::size_t bytes = 0;
    while (end < entries.size() && !entries[end].is_rotation && bytes < kBatchBytesMax) {
      bytes += entries[end].bytes();
      ++end;
    }
    if (!write_records(entries, first, end)) return false;
    first = end;
  }
  return true;
}

bool Disk::Impl::write_records(const std::vector<Queued>& entries, std::size_t first,
                               std::size_t end) {
  RecordChain chain = files.chain();
  const std::uint64_t durable = durable_seq;
  batch.clear();
  for (std::size_t index = first; index < end; ++index) {
    const Queued& entry = entries[index];
    append_record(batch, {entry.seq, epoch.value, durable, entry.kind.type, entry.kind.version},
                  entry.payload, chain);
  }
  if (!keep_trying("records", [&] { return files.append(batch, chain); })) return false;
  if (batch.capacity() > kBatchBytesKept) batch = std::string();
  durable_seq = chain.seq_next - 1;
  if (on_durable) on_durable(chain.seq_next - 1);
  return true;
}

// Allocates what the next batches may need, and tells whether that worked.
void Disk::Impl::check_space() {
  const bool made = files.make_reserve();
  has_reserve = made;
  const bool has_room = blobs->make_room();
  struct statvfs facts {};
  bool has_free = true;
  if (::statvfs(options.directory.c_str(), &facts) == 0) {
    has_free = facts.f_bavail * facts.f_frsize >= options.free_bytes_min;
  }
  const bool was_full = is_nearly_full.exchange(!made || !has_room || !has_free);
  if (was_full == is_nearly_full) return;
  options.report(was_full ? "state disk: enough space again in " + options.directory
                          : "state disk nearly full: " + options.directory +
                                "; submits are refused until there is space");
}

}  // namespace muster
