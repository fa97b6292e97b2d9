// What a roll of nodes does next. All it must remember between two looks, or two runs of the
// command, stands in the nodes' own reasons: "roll 3f2a91c0: acting, boot 7d1e22b4: new kernel".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/message/cluster_request.h"
#include "base/types/fields.h"

namespace muster {

enum class RollPhase : std::uint8_t { kDraining, kActing, kChecking, kFailed, kDone };
template <>
struct EnumNames<RollPhase> {
  static constexpr std::array<std::string_view, 5> kNames{"draining", "acting", "checking",
                                                          "failed", "done"};
};

struct RollMark {
  std::string id;
  RollPhase phase = RollPhase::kDraining;
  std::string boot;  // Beginning of the boot id before the act; empty: not of interest.
  std::string reason;
};

std::string to_text(const RollMark& mark);
std::optional<RollMark> parse_roll_mark(std::string_view text);
// Of a node; null: no roll has marked it.
std::optional<RollMark> roll_mark_of(const NodeRow& node);

enum class RollStep : std::uint8_t {
  kWait,
  kDrain,   // Takes work, and this roll has not been there.
  kAct,     // Drained, and nothing runs there any more.
  kCheck,   // The act is over (or, for a reboot, must have been): is the node back?
  kReturn,  // It is.
  kOver,    // Done, or failed.
  kForeign  // Drained, down or rolled by somebody else: left alone.
};

struct RollRules {
  std::string id;
  bool reboot = false;  // The act is over when the node has another boot id.
};
// What is due on one node. An act that this command has begun itself is not asked about.
RollStep roll_step(const NodeRow& node, const RollRules& rules);
bool is_idle(const NodeRow& node);
// "ssh {node} reboot" with the node's name in it.
std::string command_for(std::string_view command, const std::string& node);

}  // namespace muster
