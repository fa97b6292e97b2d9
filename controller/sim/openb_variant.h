// Other pod lists of a trace's pods: with more or fewer of one kind. Those of the kind come from
// the list in an order drawn by chance and, where it has too few, are drawn from it with
// replacement: the way in which the published lists were made of one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/types/fields.h"
#include "base/types/result.h"
#include "controller/sim/openb_trace.h"

namespace muster {

enum class OpenbKind : std::uint8_t {
  kShare,  // Percent of the pods with GPUs that ask for a share of one.
  kMulti,  // Percent of all GPUs asked for that pods with several ask for.
  kSpec,   // Percent of the pods with GPUs that name models.
  kCpu,    // Pods without GPUs, in percent of those that the list has.
};
template <>
struct EnumNames<OpenbKind> {
  static constexpr std::array<std::string_view, 4> kNames{"share", "multi", "spec", "cpu"};
};

struct OpenbVariant {
  OpenbKind kind = OpenbKind::kShare;
  std::uint32_t percent = 0;
};

// "multi=20". At most 100 for share and spec, 90 for multi, 1000 for cpu.
Result<OpenbVariant> parse_variant(std::string_view text);

// The workload's name gets the variant's, as in "default-multi20". kInvalid when the list lacks the
// pods to draw from. The same for the same trace.
Result<OpenbTrace> vary(const OpenbTrace& trace, OpenbVariant variant);

}  // namespace muster
