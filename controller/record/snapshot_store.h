// Snapshots in a directory: the newest one that can be read, written whole or not at all.
#pragma once

#include <optional>
#include <string>

#include "base/types/ids.h"
#include "base/types/result.h"
#include "controller/core/cluster.h"

namespace muster {

struct LoadedSnapshot {
  Cluster cluster;
  Seq seq;        // The state after this record.
  WallTime wall;  // Label of that record.
};

// The newest snapshot whose every checksum and digest is right; nothing when there is none. A
// damaged newer one is passed over when an older one is there (reported in `note`), else kCorrupt
// names it.
Result<std::optional<LoadedSnapshot>> load_newest_snapshot(const std::string& directory,
                                                           std::string* note = nullptr);

// tmp, fsync, rename, fsync of the directory; keeps the newest two.
Result<void> write_snapshot(const std::string& directory, const Cluster& cluster, Seq seq,
                            WallTime wall);

// One file, wherever it is. Errors name it: kNotFound when it is not there, kCorrupt, kInvalid.
Result<LoadedSnapshot> load_snapshot_file(const std::string& path);
// Whole or not at all, by way of `path`.new.
Result<void> write_snapshot_file(const std::string& path, const Cluster& cluster, Seq seq,
                                 WallTime wall);

// By file names only; nothing when there is none.
std::optional<Seq> newest_snapshot_seq(const std::string& directory);

}  // namespace muster
