// Packs: space allocated ahead by the disk thread, handed out by put(), filled by flush().
#include "controller/host/blob_store.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <filesystem>
#include <iterator>
#include <list>
#include <mutex>
#include <set>
#include <system_error>
#include <unordered_map>

#include "controller/host/state_file.h"

namespace muster {
namespace {

constexpr std::string_view kPackPrefix = "pack-";
constexpr std::size_t kPackDigits = 8;
constexpr std::uint32_t kPackVersion = 1;

struct PackHeader {
  std::array<char, 8> magic{'\x8A', 'M', 'U', 'S', 'T', 'B', 'L', 'B'};
  std::uint32_t version = kPackVersion;
  std::uint32_t number = 0;
};
static_assert(std::has_unique_object_representations_v<PackHeader>);

std::string pack_file_name(std::uint32_t number) {
  const std::string digits = std::to_string(number);
  return std::string(kPackPrefix) +
         std::string(kPackDigits - std::min(kPackDigits, digits.size()), '0') + digits;
}

std::uint32_t parse_pack_file_name(std::string_view name) {  // 0: is none.
  if (name.substr(0, kPackPrefix.size()) != kPackPrefix) return 0;
  const std::string_view digits = name.substr(kPackPrefix.size());
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto parsed = std::from_chars(digits.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return 0;
  return pack_file_name(number) == name ? number : 0;
}

Hash256 hash_of(std::string_view content) {
  Hash256 hash;
  crypto_generichash(hash.bytes.data(), hash.bytes.size(),
                     reinterpret_cast<const unsigned char*>(content.data()), content.size(),
                     nullptr, 0);
  return hash;
}

struct HashOfHash {
  std::size_t operator()(const Hash256& hash) const noexcept {
    std::size_t first = 0;
    std::memcpy(&first, hash.bytes.data(), sizeof(first));
    return first;
  }
};

// Contents stored lately, the newest first.
class RecentBlobs {
 public:
  explicit RecentBlobs(std::size_t max) : max_(max) {}

  const BlobRef* find(const Hash256& hash) {
    const auto found = by_hash_.find(hash);
    if (found == by_hash_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &order_.front();
  }
  void add(const BlobRef& ref) {
    if (max_ == 0) return;
    if (order_.size() == max_) {
      by_hash_.erase(order_.back().hash);
      order_.pop_back();
    }
    order_.push_front(ref);
    by_hash_[ref.hash] = order_.begin();
  }
  void forget_pack(std::uint32_t pack) {
    for (auto at = order_.begin(); at != order_.end();) {
      if (at->pack != pack) {
        ++at;
        continue;
      }
      by_hash_.erase(at->hash);
      at = order_.erase(at);
    }
  }

 private:
  const std::size_t max_;
  std::list<BlobRef> order_;
  std::unordered_map<Hash256, std::list<BlobRef>::iterator, HashOfHash> by_hash_;
};

struct Pack {
  std::uint32_t number = 0;
  StateFile file;
  std::uint64_t next = sizeof(PackHeader);  // Where the next blob goes.
  std::uint64_t allocated = 0;
  std::uint64_t filled = 0;  // Written, be it with zeros. Under flush_mutex.
  std::uint64_t room() const { return allocated - next; }
};

// Bytes for one pack that wait for the next flush.
struct Stretch {
  std::shared_ptr<Pack> pack;
  std::uint64_t offset = 0;
  std::string bytes;
};

}  // namespace

struct BlobStore::Impl {
  Impl(std::string path, const BlobOptions& wanted)
      : directory(std::move(path)), options(wanted), recent(wanted.recent_max) {}

  std::string path_of(std::uint32_t pack) const { return directory + "/" + pack_file_name(pack); }
  void tidy(const std::vector<std::uint32_t>& found);
  std::shared_ptr<Pack> make_pack(std::uint32_t number) const;
  bool needs_upcoming() const;
  bool extend_current();
  Result<void> place(BlobRef& ref, std::unique_lock<std::mutex>& lock);
  bool write(const Stretch& stretch);

  const std::string directory;
  const BlobOptions options;

  std::mutex room_mutex;  // Held while space is allocated; taken before `mutex`.
  std::mutex flush_mutex;
  std::deque<Stretch> in_flight;  // Taken from pending, not yet durable. Under flush_mutex.
  mutable std::mutex mutex;       // Of all below.
  std::condition_variable room_changed;
  std::function<void()> wake;
  bool is_full = false;
  std::shared_ptr<Pack> current;
  std::shared_ptr<Pack> upcoming;
  std::uint32_t number_next = 1;
  std::vector<Stretch> pending;
  std::set<std::uint32_t> retired;
  RecentBlobs recent;
};

BlobStore::BlobStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlobStore::~BlobStore() = default;

Result<std::unique_ptr<BlobStore>> BlobStore::open(const std::string& directory,
                                                   const BlobOptions& options) {
  MUSTER_ASSERT(options.pack_bytes >= options.room_bytes + sizeof(PackHeader));
  if (sodium_init() < 0) return fail(ErrorCode::kUnavailable, "libsodium cannot start");
  if (Result<void> made = make_directory(directory); !made) return made.error();
  std::unique_ptr<BlobStore> store(new BlobStore(std::make_unique<Impl>(directory, options)));
  store->impl_->tidy(store->packs());
  static_cast<void>(store->make_room());
  return store;
}

// Gives back space that an earlier run allocated ahead and never used.
void BlobStore::Impl::tidy(const std::vector<std::uint32_t>& found) {
  if (!found.empty()) number_next = found.back() + 1;
  for (auto number = found.rbegin(); number != found.rend(); ++number) {
    const Result<StateFile> pack = StateFile::open(path_of(*number), O_RDWR);
    if (!pack) return;
    const Result<std::uint64_t> size = pack->size();
    if (!size) return;
    if (*size > sizeof(PackHeader)) return pack->truncate(*size);
    ::unlink(pack->path().c_str());
  }
}

std::shared_ptr<Pack> BlobStore::Impl::make_pack(std::uint32_t number) const {
  Result<StateFile> made = StateFile::open(path_of(number), O_RDWR | O_CREAT | O_TRUNC);
  if (!made) return nullptr;
  PackHeader header;
  header.number = number;
  const std::string_view bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  const std::uint64_t allocated = sizeof(header) + options.room_bytes;
  if (!made->allocate(0, allocated, true) || !made->write_at(bytes, 0)) {
    ::unlink(made->path().c_str());
    return nullptr;
  }
  made->sync();
  sync_directory(directory);
  auto pack = std::make_shared<Pack>();
  pack->number = number;
  pack->file = std::move(*made);
  pack->allocated = allocated;
  return pack;
}

// Whether the current pack is about to end and its successor is not there yet.
bool BlobStore::Impl::needs_upcoming() const {
  if (upcoming != nullptr) return false;
  return current == nullptr || options.pack_bytes - current->next < options.room_bytes;
}

// Allocates on in the current pack as far as room_bytes ahead, or to its end. Holds room_mutex.
bool BlobStore::Impl::extend_current() {
  std::shared_ptr<Pack> pack;
  std::uint64_t from = 0;
  std::uint64_t wanted = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    pack = current;
    if (pack == nullptr) return true;
    from = pack->allocated;
    // Half as much again at a time, so that not every flush allocates.
    if (pack->room() < options.room_bytes) wanted = pack->next + options.room_bytes * 3 / 2;
    wanted = std::min(wanted, options.pack_bytes);
  }
  if (wanted <= from) return true;
  if (!pack->file.allocate(from, wanted - from, true)) return false;
  const std::lock_guard<std::mutex> lock(mutex);
  pack->allocated = wanted;
  return true;
}

bool BlobStore::make_room() {
  const std::lock_guard<std::mutex> allocating(impl_->room_mutex);
  bool has_room = impl_->extend_current();
  std::uint32_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    if (impl_->needs_upcoming()) number = impl_->number_next;
  }
  std::shared_ptr<Pack> made;
  if (number != 0) {
    made = impl_->make_pack(number);
    has_room = has_room && made != nullptr;
  }
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (made != nullptr) {
    ++impl_->number_next;
    (impl_->current == nullptr ? impl_->current : impl_->upcoming) = std::move(made);
  }
  impl_->is_full = !has_room;
  impl_->room_changed.notify_all();
  return has_room;
}

// Fills in pack and offset, waiting for space to be allocated.
Result<void> BlobStore::Impl::place(BlobRef& ref, std::unique_lock<std::mutex>& lock) {
  while (true) {
    if (current != nullptr && current->room() >= ref.size) break;
    const bool is_ended = current == nullptr || options.pack_bytes - current->next < ref.size;
    if (is_ended && upcoming != nullptr) {
      current = std::move(upcoming);
      upcoming = nullptr;
      continue;
    }
    if (is_full) return fail(ErrorCode::kUnavailable, "state disk full");
    if (!wake) return fail(ErrorCode::kUnavailable, "the disk thread is not running");
    wake();
    room_changed.wait(lock);
  }
  ref.pack = current->number;
  ref.offset = current->next;
  current->next += ref.size;
  return {};
}

Result<BlobRef> BlobStore::put(std::string_view content) {
  const std::uint64_t size_max = std::min<std::uint64_t>(kBlobBytesMax, impl_->options.room_bytes);
  if (content.size() > size_max) {
    return fail(ErrorCode::kLimit, "blob of " + std::to_string(content.size()) +
                                       " bytes: at most " + std::to_string(size_max));
  }
  BlobRef ref;
  ref.hash = hash_of(content);
  ref.size = static_cast<std::uint32_t>(content.size());
  std::unique_lock<std::mutex> lock(impl_->mutex);
  if (const BlobRef* known = impl_->recent.find(ref.hash)) return *known;
  if (Result<void> placed = impl_->place(ref, lock); !placed) return placed.error();
  std::vector<Stretch>& pending = impl_->pending;
  if (pending.empty() || pending.back().pack != impl_->current) {
    pending.push_back({impl_->current, ref.offset, {}});
  }
  pending.back().bytes.append(content);
  impl_->recent.add(ref);
  return ref;
}

// False: no space, although it was allocated; some file systems copy on write.
bool BlobStore::Impl::write(const Stretch& stretch) {
  const StateFile& file = stretch.pack->file;
  std::uint64_t allocated = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    allocated = stretch.pack->allocated;
  }
  if (!file.write_filling(stretch.bytes, stretch.offset, allocated, stretch.pack->filled)) {
    return false;
  }
  file.sync_data();
  const std::uint64_t end = stretch.offset + stretch.bytes.size();
  const std::lock_guard<std::mutex> lock(mutex);
  const bool is_finished = stretch.pack != current && stretch.pack->next == end;
  if (is_finished) file.truncate(end);  // Gives back what was allocated ahead.
  return true;
}

bool BlobStore::flush() {
  const std::lock_guard<std::mutex> flushing(impl_->flush_mutex);
  std::deque<Stretch>& in_flight = impl_->in_flight;
  {
    const std::lock_guard<std::mutex> lock(impl_->mutex);
    std::move(impl_->pending.begin(), impl_->pending.end(), std::back_inserter(in_flight));
    impl_->pending.clear();
  }
  while (!in_flight.empty()) {
    if (!impl_->write(in_flight.front())) return false;
    in_flight.pop_front();
  }
  return true;
}

void BlobStore::when_room_wanted(std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  impl_->wake = std::move(wake);
  impl_->room_changed.notify_all();
}

Result<std::string> BlobStore::read(const BlobRef& ref) const {
  if (!ref.exists()) return fail(ErrorCode::kNotFound, "no such blob");
  if (ref.size > kBlobBytesMax) return fail(ErrorCode::kCorrupt, "blob reference: size over limit");
  Result<StateFile> file = StateFile::open(impl_->path_of(ref.pack), O_RDONLY);
  if (!file) return file.error();
  std::string content(ref.size, '\0');
  const Result<std::size_t> count = file->read_at(content.data(), content.size(), ref.offset);
  if (!count) return count.error();
  if (*count != content.size() || hash_of(content) != ref.hash) {
    return fail(ErrorCode::kCorrupt, "blob damaged: " + file->path() + " at offset " +
                                         std::to_string(ref.offset) + ", " +
                                         std::to_string(ref.size) + " bytes");
  }
  return content;
}

std::vector<std::uint32_t> BlobStore::packs() const {
  std::vector<std::uint32_t> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(impl_->directory, error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::uint32_t number = parse_pack_file_name(entries->path().filename().string());
    if (number != 0) found.push_back(number);
  }
  std::sort(found.begin(), found.end());
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  // The upcoming one holds nothing yet: the last named is the one being written.
  if (impl_->upcoming != nullptr && !found.empty() && found.back() == impl_->upcoming->number) {
    found.pop_back();
  }
  return found;
}

void BlobStore::retire_pack(std::uint32_t pack) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  const std::shared_ptr<Pack>& current = impl_->current;
  if (current == nullptr || pack >= current->number) return;
  impl_->recent.forget_pack(pack);
  impl_->retired.insert(pack);
}

void BlobStore::remove_pack(std::uint32_t pack) {
  const std::lock_guard<std::mutex> lock(impl_->mutex);
  if (impl_->retired.erase(pack) == 0) return;
  ::unlink(impl_->path_of(pack).c_str());
}

}  // namespace muster
