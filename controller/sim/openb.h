// The openb experiment: pods arrive one by one and stay; how many of the GPUs are allotted when as
// many were asked for as there are? (FGD, USENIX ATC'23, section 6.)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/fields.h"
#include "base/types/result.h"
#include "controller/sim/openb_trace.h"

namespace muster {

enum class OpenbPolicy : std::uint8_t { kMuster, kFgd, kBestfit };
template <>
struct EnumNames<OpenbPolicy> {
  static constexpr std::array<std::string_view, 3> kNames{"muster", "fgd", "bestfit"};
};

// "42-51" or "42": both ends belong to it. At most 10,000 seeds.
struct SeedRange {
  std::uint64_t first = 42;
  std::uint64_t last = 51;
};
Result<SeedRange> parse_seeds(std::string_view text);

// In percent of all GPUs of the nodes, one for each seed.
struct OpenbResult {
  OpenbPolicy policy = OpenbPolicy::kMuster;
  std::vector<double> allocated;
  double mean() const;
  double min() const;
  double max() const;
};

// Called before each seed.
using OpenbProgress = std::function<void(OpenbPolicy, std::uint64_t seed)>;

OpenbResult run_openb(const OpenbTrace& trace, OpenbPolicy policy, SeedRange seeds,
                      const OpenbProgress& progress = {});

// The mean of a - b, seed by seed, and how far from it the true mean may be at 95 % (Student's t).
// `half` is missing with one seed.
struct PairedDifference {
  double mean = 0;
  std::optional<double> half;
};
PairedDifference paired_difference(const OpenbResult& a, const OpenbResult& b);

}  // namespace muster
