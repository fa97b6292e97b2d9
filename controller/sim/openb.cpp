// Running the openb experiment.
#include "controller/sim/openb.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/types/rng.h"
#include "controller/sim/packer.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeedsMax = 10'000;

std::unique_ptr<Packer> make_packer(OpenbPolicy policy, const OpenbTrace& trace) {
  switch (policy) {
    case OpenbPolicy::kFgd:
      return make_fgd_packer(trace);
    case OpenbPolicy::kBestfit:
      return make_bestfit_packer(trace);
    case OpenbPolicy::kMuster:
      break;
  }
  return make_muster_packer(trace);
}

// The list in an order drawn by the seed, then pods drawn from it with replacement. What comes
// between 100 % and the 130 % of the published protocol does not change what is reported here.
double allocated_percent(const OpenbTrace& trace, OpenbPolicy policy, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::size_t> order(trace.pods.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  const std::unique_ptr<Packer> packer = make_packer(policy, trace);
  const std::uint64_t capacity = trace.capacity_milli();
  std::uint64_t arrived = 0;
  std::uint64_t placed = 0;
  for (std::size_t i = 0; arrived < capacity; ++i) {
    const std::size_t pod = i < order.size() ? order[i] : rng.below(trace.pods.size());
    arrived += trace.pods[pod].milli();
    if (packer->place(pod)) placed += trace.pods[pod].milli();
  }
  return 100 * static_cast<double>(placed) / static_cast<double>(capacity);
}

// Of Student's t, two-sided 95 %, by degrees of freedom from 1 on; about 2 + 2.4/n beyond.
double t_quantile(std::size_t freedom) {
  constexpr std::array kTable{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                              2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                              2.131,  2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom <= kTable.size()) return kTable[freedom - 1];
  return 1.960 + 2.54 / static_cast<double>(freedom);
}

}  // namespace

Result<SeedRange> parse_seeds(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto number = [](std::string_view word, std::uint64_t& out) {
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), out);
    return error == std::errc{} && stop == word.data() + word.size();
  };
  SeedRange range;
  bool is_right = number(text.substr(0, dash), range.first);
  range.last = range.first;
  if (dash != std::string_view::npos)
    is_right = is_right && number(text.substr(dash + 1), range.last);
  if (!is_right || range.last < range.first || range.last - range.first >= kSeedsMax) {
    return fail(ErrorCode::kInvalid,
                "seeds are a number or a range such as 42-51, of at most 10000");
  }
  return range;
}

double OpenbResult::mean() const {
  return std::accumulate(allocated.begin(), allocated.end(), 0.0) /
         static_cast<double>(allocated.size());
}
double OpenbResult::min() const { return *std::min_element(allocated.begin(), allocated.end()); }
double OpenbResult::max() const { return *std::max_element(allocated.begin(), allocated.end()); }

OpenbResult run_openb(const OpenbTrace& trace, OpenbPolicy policy, SeedRange seeds,
                      const OpenbProgress& progress) {
  OpenbResult result;
  result.policy = policy;
  for (std::uint64_t i = 0; i <= seeds.last - seeds.first; ++i) {
    if (progress) progress(policy, seeds.first + i);
    result.allocated.push_back(allocated_percent(trace, policy, seeds.first + i));
  }
  return result;
}

PairedDifference paired_difference(const OpenbResult& a, const OpenbResult& b) {
  const std::size_t count = std::min(a.allocated.size(), b.allocated.size());
  PairedDifference difference;
  for (std::size_t i = 0; i < count; ++i) difference.mean += a.allocated[i] - b.allocated[i];
  difference.mean /= static_cast<double>(count);
  if (count < 2) return difference;
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double off = a.allocated[i] - b.allocated[i] - difference.mean;
    squares += off * off;
  }
  const auto n = static_cast<double>(count);
  difference.half = t_quantile(count - 1) * std::sqrt(squares / (n - 1) / n);
  return difference;
}

}  // namespace muster
