// Drawing pod lists.
#include "controller/sim/openb_variant.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/types/resources.h"
#include "base/types/rng.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::uint64_t kSeed = 1;  // A variant is one list, whatever the seeds of a run are.
constexpr std::array<std::uint32_t, 4> kPercentMax{100, 90, 100, 1000};  // By kind.

using Pods = std::vector<OpenbPod>;

bool is_of(OpenbKind kind, const OpenbPod& pod) {
  switch (kind) {
    case OpenbKind::kShare:
      return pod.gpus == 1 && pod.gpu_milli < kMilliPerGpu;
    case OpenbKind::kMulti:
      return pod.gpus > 1;
    case OpenbKind::kSpec:
      return !pod.models.empty();
    case OpenbKind::kCpu:
      return pod.gpus == 0;
  }
  return false;
}

// Pods one by one: each of the pool once, in an order drawn by chance, then with replacement.
class Draw {
 public:
  Draw(Pods pool, Rng& rng) : pool_(std::move(pool)), rng_(rng) {
    for (std::size_t i = pool_.size(); i > 1; --i) std::swap(pool_[i - 1], pool_[rng_.below(i)]);
  }
  // So many more. False when there are none at all.
  bool add_to(Pods& pods, std::size_t count) {
    if (pool_.empty()) return count == 0;
    for (; count > 0; --count) pods.push_back(next());
    return true;
  }
  // Until they ask for so much.
  bool add_milli_to(Pods& pods, std::uint64_t milli) {
    if (pool_.empty()) return milli == 0;
    while (milli != 0) {
      pods.push_back(next());
      milli -= std::min(milli, pods.back().milli());
    }
    return true;
  }

 private:
  const OpenbPod& next() {
    const std::size_t at = drawn_ < pool_.size() ? drawn_ : rng_.below(pool_.size());
    ++drawn_;
    return pool_[at];
  }

  Pods pool_;
  Rng& rng_;
  std::size_t drawn_ = 0;
};

Error lacks_pods(const OpenbTrace& trace, OpenbVariant variant) {
  return fail(ErrorCode::kInvalid, "the list " + trace.workload + " has no pods to draw " +
                                       std::string(name_of(variant.kind)) + "=" +
                                       std::to_string(variant.percent) + " from");
}

std::uint64_t milli_of(const Pods& pods) {
  std::uint64_t sum = 0;
  for (const OpenbPod& pod : pods) sum += pod.milli();
  return sum;
}

}  // namespace

Result<OpenbVariant> parse_variant(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  OpenbVariant variant;
  const bool is_known = enum_from_name(text.substr(0, equals), variant.kind);
  const std::string_view number = text.substr(std::min(equals + 1, text.size()));
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, variant.percent);
  const bool is_number = error == std::errc{} && stop == end;
  if (is_known && is_number &&
      variant.percent <= kPercentMax[static_cast<std::size_t>(variant.kind)])
    return variant;
  return fail(ErrorCode::kInvalid, escape_for_terminal(text) +
                                       ": variants are share=0..100, multi=0..90, spec=0..100, "
                                       "cpu=0..1000");
}

Result<OpenbTrace> vary(const OpenbTrace& trace, OpenbVariant variant) {
  const bool takes_places = variant.kind == OpenbKind::kShare || variant.kind == OpenbKind::kSpec;
  Pods of_kind;
  Pods others;  // Whose places those of the kind take.
  OpenbTrace varied{trace.workload, trace.nodes, {}};
  varied.workload += "-" + std::string(name_of(variant.kind)) + std::to_string(variant.percent);
  for (const OpenbPod& pod : trace.pods) {
    if (is_of(variant.kind, pod))
      of_kind.push_back(pod);
    else
      (takes_places && pod.gpus != 0 ? others : varied.pods).push_back(pod);
  }
  const std::size_t places = of_kind.size() + others.size();
  const std::size_t wanted = places * variant.percent / 100;
  const std::uint64_t milli_others = milli_of(varied.pods);
  Rng rng(kSeed);
  Draw draw(std::move(of_kind), rng);
  bool is_done = false;
  if (variant.kind == OpenbKind::kMulti)
    is_done =
        draw.add_milli_to(varied.pods, milli_others * variant.percent / (100 - variant.percent));
  else
    is_done = draw.add_to(varied.pods, wanted);
  if (takes_places) is_done &= Draw(std::move(others), rng).add_to(varied.pods, places - wanted);
  if (!is_done || milli_of(varied.pods) == 0) return lacks_pods(trace, variant);
  return varied;
}

}  // namespace muster
