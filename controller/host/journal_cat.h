// The journal of a state directory, read offline: for people and for tests. Also beside a running
// controller: it then shows what had reached the files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace muster {

// Prints every record as one JSON line. The exit code: 0, or kExitData with one line on standard
// error that names file and offset.
int journal_cat(const std::string& state_dir);

// Reads every record, replays them and compares the digests of sealed segments; prints what it saw.
// Changes nothing.
int journal_verify(const std::string& state_dir);

// Writes the state after the last record that reached the files as one snapshot file, for
// `gpusim state`; says how far it goes. Or after the record `until`, which must hold BoardRebuilt:
// from there on a controller that ran decided as its dump does.
int state_dump(const std::string& state_dir, const std::string& file,
               std::optional<std::uint64_t> until);

}  // namespace muster
