// Counting ends.
#include "controller/core/run_times.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/types/digest.h"

namespace muster {
namespace {

constexpr std::array<std::int64_t, kAgeBins + 1> edges() {
  std::array<std::int64_t, kAgeBins + 1> edge{0, 8'000'000, 11'313'708};
  for (std::size_t i = 3; i < edge.size(); ++i) edge[i] = 2 * edge[i - 2];
  return edge;
}
constexpr std::array<std::int64_t, kAgeBins + 1> kEdges = edges();  // In microseconds.

std::uint64_t digest_of_row(const Likeness& likeness, const RunTimes& times) {
  std::uint64_t hash = combine64(digest_of(likeness), times.taught.value);
  for (std::size_t i = 0; i < kAgeBins; ++i) {
    if (times.ended[i] == 0 && times.left[i] == 0) continue;
    hash = combine64(combine64(hash, i), (std::uint64_t{times.ended[i]} << 32U) | times.left[i]);
  }
  return hash;
}

std::uint64_t sum_of(const RunTimes& times) {
  const auto sum = [](const AgeBins& bins) {
    return std::accumulate(bins.begin(), bins.end(), std::uint64_t{0});
  };
  return sum(times.ended) + sum(times.left);
}

void halve(AgeBins& bins) {
  for (std::uint32_t& count : bins) count /= 2;
}

}  // namespace

std::uint32_t gpus_of(const JobTerms& terms) {
  std::uint64_t milli = 0;
  for (const Group& group : terms.groups)
    milli += std::uint64_t{group.nodes_min} * group.gpus_per_node * group.gpu_milli;
  return static_cast<std::uint32_t>((milli + kMilliPerGpu - 1) / kMilliPerGpu);
}

std::string name_likeness(std::string_view name) {
  std::string like;
  for (const char c : name) {
    if (like.size() == kLikeNameBytesMax) break;
    if (c < '0' || c > '9') like += c;
  }
  return like;
}

Likeness likeness_of(std::uint32_t level, const JobFacts& facts) {
  Likeness likeness;
  likeness.level = level;
  if (level >= 1) likeness.gpus = gpus_of(*facts.terms);
  if (level >= 2) likeness.queue = facts.queue();
  if (level >= 3) likeness.uid = facts.uid();
  if (level >= 4) likeness.name = name_likeness(facts.name);
  return likeness;
}

std::uint32_t levels_of(const JobFacts& facts) {
  return name_likeness(facts.name).empty() ? kLikenessLevels - 1 : kLikenessLevels;
}

std::size_t age_bin_of(Duration ran) {
  const auto above = std::upper_bound(kEdges.begin(), kEdges.end() - 1, ran.us);
  return above == kEdges.begin() ? 0 : static_cast<std::size_t>(above - kEdges.begin()) - 1;
}

Duration age_edge(std::size_t bin) { return Duration{kEdges[bin]}; }

void RunTimesBook::teach(const JobFacts& facts, Duration ran, bool by_itself, Seq seq) {
  if (rows_.size() + kLikenessLevels > kLikenessesMax) make_room();
  const std::size_t bin = age_bin_of(ran);
  const std::uint32_t levels = levels_of(facts);
  for (std::uint32_t level = 0; level < levels; ++level) {
    const auto [row, is_new] = rows_.try_emplace(likeness_of(level, facts));
    RunTimes& times = row->second;
    if (!is_new) digest_ -= digest_of_row(row->first, times);
    ++(by_itself ? times.ended : times.left)[bin];
    times.taught = seq;
    if (sum_of(times) >= kRunTimesPerLikenessMax) {
      halve(times.ended);
      halve(times.left);
    }
    digest_ += digest_of_row(row->first, times);
  }
}

void RunTimesBook::make_room() {
  using Row = std::pair<Seq, const Likeness*>;
  std::vector<Row> by_age;
  by_age.reserve(rows_.size());
  for (const auto& [likeness, times] : rows_) by_age.emplace_back(times.taught, &likeness);
  const auto kept = by_age.begin() + static_cast<std::ptrdiff_t>(kLikenessesDropped);
  std::nth_element(by_age.begin(), kept, by_age.end(), [](const Row& a, const Row& b) {
    return std::tie(a.first, *a.second) < std::tie(b.first, *b.second);
  });
  for (auto row = by_age.begin(); row != kept; ++row) {
    const auto found = rows_.find(*row->second);
    digest_ -= digest_of_row(found->first, found->second);
    rows_.erase(found);
  }
}

bool RunTimesBook::put(const Likeness& likeness, const RunTimes& times) {
  if (rows_.size() == kLikenessesMax || !rows_.try_emplace(likeness, times).second) return false;
  digest_ += digest_of_row(likeness, times);
  return true;
}

const RunTimes* RunTimesBook::find(const Likeness& likeness) const {
  const auto found = rows_.find(likeness);
  return found == rows_.end() ? nullptr : &found->second;
}

}  // namespace muster
