// Snapshot files: found, read and checked whole, written whole.
#include "controller/record/snapshot_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/journal/snapshot.h"
#include "controller/record/snapshot_codec.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSnapshotsKept = 2;
constexpr std::string_view kPrefix = "snapshot-";
constexpr std::string_view kUnfinished = ".new";

class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Error broken(const std::string& path, const std::string& what) {
  return fail(ErrorCode::kUnavailable, path + ": " + what + ": " + std::strerror(errno));
}

Result<void> write_all(const File& file, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file.fd(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return broken(path, "cannot write");
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<std::size_t> read_some(const File& file, const std::string& path, char* into,
                              std::size_t size) {
  std::size_t got = 0;
  while (got < size) {
    const ssize_t piece = ::read(file.fd(), into + got, size - got);
    if (piece < 0 && errno == EINTR) continue;
    if (piece < 0) return broken(path, "cannot read");
    if (piece == 0) break;
    got += static_cast<std::size_t>(piece);
  }
  return got;
}

std::optional<std::uint64_t> seq_of(const std::string& name) {
  if (name.size() <= kPrefix.size() || name.compare(0, kPrefix.size(), kPrefix) != 0)
    return std::nullopt;
  std::uint64_t seq = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, seq);
  if (error != std::errc() || stop != end || seq == 0) return std::nullopt;
  return seq;
}

// Newest first.
std::vector<std::uint64_t> list_snapshots(const std::string& directory) {
  std::vector<std::uint64_t> seqs;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (const auto seq = seq_of(it->path().filename().string())) seqs.push_back(*seq);
  }
  std::sort(seqs.rbegin(), seqs.rend());
  return seqs;
}

std::string path_of(const std::string& directory, std::uint64_t seq) {
  return directory + "/" + snapshot_file_name(seq);
}

std::array<std::uint8_t, 16> cluster_bytes(const Cluster& cluster) {
  const Result<Uuid> uuid = parse_uuid(cluster.cluster_id());
  return uuid ? uuid->bytes : std::array<std::uint8_t, 16>{};
}

Result<LoadedSnapshot> load(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.is_open()) return broken(path, "cannot open");
  const auto source = [&](char* into, std::size_t size) {
    return read_some(file, path, into, size);
  };
  Result<SnapshotReader> reader = SnapshotReader::open(source);
  if (!reader) return fail(reader.error().code, path + ": " + reader.error().message);
  ClusterDecoder decoder;
  for (;;) {
    const Result<std::string_view> piece = reader->next();
    if (!piece) return fail(piece.error().code, path + ": " + piece.error().message);
    if (piece->empty()) break;
    if (const Result<void> added = decoder.add(*piece); !added) {
      return fail(added.error().code, path + ": " + added.error().message);
    }
  }
  const WallTime wall = decoder.wall();
  Result<Cluster> cluster = decoder.finish(reader->label().digest);
  if (!cluster) return fail(cluster.error().code, path + ": " + cluster.error().message);
  return LoadedSnapshot{*std::move(cluster), Seq{reader->label().seq}, wall};
}

Result<void> write_file(const std::string& path, const Cluster& cluster, Seq seq, WallTime wall) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (!file.is_open()) return broken(path, "cannot create");
  const SnapshotLabel label{cluster_bytes(cluster), seq.value, cluster.epoch().value,
                            cluster.digest()};
  SnapshotWriter writer(label,
                        [&](std::string_view bytes) { return write_all(file, path, bytes); });
  const Result<void> encoded =
      encode_cluster(cluster, wall, [&](std::string_view piece) { return writer.add(piece); });
  if (!encoded) return encoded;
  if (const Result<void> finished = writer.finish(); !finished) return finished;
  return ::fsync(file.fd()) == 0 ? Result<void>() : broken(path, "cannot sync");
}

Result<void> sync_directory(const std::string& directory) {
  const File file(directory, O_RDONLY | O_DIRECTORY);
  if (!file.is_open() || ::fsync(file.fd()) != 0) return broken(directory, "cannot sync");
  return {};
}

}  // namespace

Result<std::optional<LoadedSnapshot>> load_newest_snapshot(const std::string& directory,
                                                           std::string* note) {
  std::optional<Error> first;
  for (const std::uint64_t seq : list_snapshots(directory)) {
    Result<LoadedSnapshot> loaded = load(path_of(directory, seq));
    if (loaded) {
      if (first && note != nullptr) *note = first->message + "; an older snapshot is used";
      return std::optional<LoadedSnapshot>(*std::move(loaded));
    }
    if (!first) first = loaded.error();
    // Written by a newer release: an older snapshot would only hide that.
    if (loaded.error().code == ErrorCode::kInvalid) break;
  }
  if (first) return *first;
  return std::optional<LoadedSnapshot>();
}

Result<LoadedSnapshot> load_snapshot_file(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0)
    return fail(ErrorCode::kNotFound, path + ": cannot be read: " + std::strerror(errno));
  return load(path);
}

Result<void> write_snapshot_file(const std::string& path, const Cluster& cluster, Seq seq,
                                 WallTime wall) {
  const std::string unfinished = path + std::string(kUnfinished);
  if (const Result<void> written = write_file(unfinished, cluster, seq, wall); !written) {
    ::unlink(unfinished.c_str());
    return written;
  }
  return ::rename(unfinished.c_str(), path.c_str()) == 0 ? Result<void>()
                                                         : broken(path, "cannot rename");
}

Result<void> write_snapshot(const std::string& directory, const Cluster& cluster, Seq seq,
                            WallTime wall) {
  const std::string path = path_of(directory, seq.value);
  if (const Result<void> written = write_snapshot_file(path, cluster, seq, wall); !written)
    return written;
  if (const Result<void> synced = sync_directory(directory); !synced) return synced;
  const std::vector<std::uint64_t> seqs = list_snapshots(directory);
  for (std::size_t i = kSnapshotsKept; i < seqs.size(); ++i) {
    ::unlink(path_of(directory, seqs[i]).c_str());
  }
  return {};
}

std::optional<Seq> newest_snapshot_seq(const std::string& directory) {
  const std::vector<std::uint64_t> seqs = list_snapshots(directory);
  if (seqs.empty()) return std::nullopt;
  return Seq{seqs.front()};
}

}  // namespace muster
