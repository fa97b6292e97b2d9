// How long jobs ran: of those that ended, how many ended at which age, for all jobs and for ever
// closer likenesses. What forecasts are made of (decide/forecast); journalled by AttemptEnded, so
// it outlives restarts. Integers only: it is digested.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/job.h"

namespace muster {

constexpr std::size_t kAgeBins = 38;  // Of half an octave each; the last ends after 34 days.
// Likenesses told apart, at 0.5 KiB each. When all are taken, those taught longest ago go.
constexpr std::size_t kLikenessesMax = 16384;
constexpr std::size_t kLikenessesDropped = kLikenessesMax / 8;
// A likeness's counts are halved when it has shown so many: what is recent counts more.
constexpr std::uint64_t kRunTimesPerLikenessMax = 16384;
constexpr std::size_t kLikeNameBytesMax = 32;

// What jobs have in common. What a level does not ask for is left empty.
struct Likeness {
  std::uint32_t level = 0;
  std::uint32_t gpus = 0;  // From level 1 on,
  std::string queue;       // 2,
  Uid uid;                 // 3,
  std::string name;        // and 4.
  auto operator<=>(const Likeness&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "level", self.level);
    visit(2, "gpus", self.gpus);
    visit(3, "queue", self.queue);
    visit(4, "uid", self.uid);
    visit(5, "name", self.name);
  }
};
constexpr std::uint32_t kLikenessLevels = 5;

// Whole GPUs' worth that the job holds, rounded up.
std::uint32_t gpus_of(const JobTerms& terms);
// Without its digits, and cut: "train-17" is like "train-18".
std::string name_likeness(std::string_view name);
Likeness likeness_of(std::uint32_t level, const JobFacts& facts);
// The closest level that tells more than the one before: names that are empty do not.
std::uint32_t levels_of(const JobFacts& facts);

std::size_t age_bin_of(Duration ran);
// Where the bin begins, and the one before it ends.
Duration age_edge(std::size_t bin);

using AgeBins = std::array<std::uint32_t, kAgeBins>;

struct RunTimes {
  AgeBins ended{};  // By themselves, at that age.
  AgeBins left{};   // Stopped by a person, a limit or a fault at that age: they would have run on.
  Seq taught;       // By that record last.
};

class RunTimesBook {
 public:
  void teach(const JobFacts& facts, Duration ran, bool by_itself, Seq seq);
  // For snapshots. False: it is there, or the book is full.
  bool put(const Likeness& likeness, const RunTimes& times);
  const std::map<Likeness, RunTimes>& rows() const { return rows_; }
  const RunTimes* find(const Likeness& likeness) const;
  std::uint64_t digest() const { return digest_; }

 private:
  void make_room();
  std::map<Likeness, RunTimes> rows_;
  std::uint64_t digest_ = 0;  // Sum over all rows.
};

}  // namespace muster
