// Reading and writing marks, and what follows from them.
#include "submit/cli/roll.h"

#include <algorithm>

namespace muster {

namespace {

constexpr std::string_view kPrefix = "roll ";
constexpr std::string_view kBoot = ", boot ";
constexpr std::size_t kBootShown = 8;

std::string short_boot(const std::string& boot) { return boot.substr(0, kBootShown); }

bool has_rebooted(const NodeRow& node, const RollMark& mark) {
  return !mark.boot.empty() && short_boot(node.boot_id) != mark.boot;
}

}  // namespace

std::string to_text(const RollMark& mark) {
  std::string text = std::string(kPrefix) + mark.id + ": " + std::string(name_of(mark.phase));
  if (!mark.boot.empty()) text += std::string(kBoot) + short_boot(mark.boot);
  return mark.reason.empty() ? text : text + ": " + mark.reason;
}

std::optional<RollMark> parse_roll_mark(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  RollMark mark;
  mark.id = std::string(text.substr(0, colon));
  text.remove_prefix(colon + 2);
  const std::size_t end = std::min(text.find(": "), text.size());
  std::string_view phase = text.substr(0, end);
  if (end != text.size()) mark.reason = std::string(text.substr(end + 2));
  const std::size_t boot = phase.find(kBoot);
  if (boot != std::string_view::npos) {
    mark.boot = std::string(phase.substr(boot + kBoot.size()));
    phase = phase.substr(0, boot);
  }
  if (!enum_from_name(phase, mark.phase)) return std::nullopt;
  return mark;
}

std::optional<RollMark> roll_mark_of(const NodeRow& node) {
  if (auto mark = parse_roll_mark(node.drain_reason)) return mark;
  return parse_roll_mark(node.reason);
}

bool is_idle(const NodeRow& node) {
  return node.cpus_used == 0 && node.memory_mib_used == 0 &&
         std::none_of(node.gpus.begin(), node.gpus.end(),
                      [](const DeviceRow& gpu) { return gpu.milli_used != 0; });
}

RollStep roll_step(const NodeRow& node, const RollRules& rules) {
  const std::optional<RollMark> mark = roll_mark_of(node);
  if (!mark || mark->id != rules.id) {
    const bool is_free =
        node.drain_reason.empty() && node.connected &&
        (node.state == "up" || node.state == "reserved" || node.state == "maintenance");
    return is_free ? RollStep::kDrain : RollStep::kForeign;
  }
  switch (mark->phase) {
    case RollPhase::kDraining:
      return is_idle(node) ? RollStep::kAct : RollStep::kWait;
    case RollPhase::kActing:
      if (rules.reboot && has_rebooted(node, *mark)) return RollStep::kCheck;
      return node.connected ? RollStep::kAct : RollStep::kWait;  // It may be on its way down.
    case RollPhase::kChecking: {
      const bool is_back =
          node.connected && node.state == "drained" && (!rules.reboot || has_rebooted(node, *mark));
      return is_back ? RollStep::kReturn : RollStep::kWait;
    }
    case RollPhase::kFailed:
    case RollPhase::kDone:
      break;
  }
  return RollStep::kOver;
}

std::string command_for(std::string_view command, const std::string& node) {
  constexpr std::string_view kNode = "{node}";
  std::string text;
  for (;;) {
    const std::size_t at = command.find(kNode);
    text += command.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += node;
    command.remove_prefix(at + kNode.size());
  }
}

}  // namespace muster
