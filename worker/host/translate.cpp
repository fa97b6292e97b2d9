// Between wire, core and launcher.
#include "worker/host/translate.h"

#include <algorithm>
#include <utility>

#include "base/order/order.h"

namespace muster {
namespace {

Result<Signature> signature_of(const std::string& bytes) {
  Signature signature;
  if (bytes.size() != signature.bytes.size())
    return fail(ErrorCode::kInvalid, "order: signature of a wrong length");
  std::copy(bytes.begin(), bytes.end(), signature.bytes.begin());
  return signature;
}

template <class Message>
Result<LauncherOrder> framed(AttemptKey key, Epoch epoch, const Message& message) {
  Result<std::string> frame = encode_local(message);
  if (!frame) return frame.error();
  return LauncherOrder{key, epoch, *std::move(frame)};
}

}  // namespace

HeldAttempt held_of(const LocalState& state) {
  HeldAttempt attempt{state.key, static_cast<HeldPhase>(state.phase), state.epoch, state.ports, {}};
  if (state.phase == LocalPhase::kEnded) attempt.record = state.record;
  return attempt;
}

ReportPart report_of(const HeldAttempt& attempt) {
  const int phase = static_cast<int>(attempt.phase) + static_cast<int>(ReportPhase::kPreparing);
  return {attempt.key, static_cast<ReportPhase>(phase), attempt.epoch, attempt.ports,
          attempt.record};
}

Result<LauncherOrder> order_of(const PreparePart& part, Pinner& pinner) {
  const Result<CommonOrder> common = decode_common_order(part.common_order);
  if (!common) return common.error();
  const Result<NodeOrder> node = decode_node_order(part.node_order);
  if (!node) return node.error();
  if (node->member >= common->members.size() || node->attempt != common->attempt)
    return fail(ErrorCode::kCorrupt, "the parts of an order contradict each other");
  const Result<Signature> common_signature = signature_of(part.common_signature);
  if (!common_signature) return common_signature.error();
  const Result<Signature> node_signature = signature_of(part.node_signature);
  if (!node_signature) return node_signature.error();
  return framed(
      common->attempt, common->epoch,
      LocalPrepare{common->attempt, part.common_order, *common_signature, part.node_order,
                   *node_signature, part.script, part.environment, pinner.pin(*common, *node)});
}

Result<LauncherOrder> order_of(const GoPart& part) {
  const Result<GoOrder> go = decode_go_order(part.go_order);
  if (!go) return go.error();
  const Result<Signature> signature = signature_of(part.go_signature);
  if (!signature) return signature.error();
  return framed(go->attempt, go->epoch, LocalGo{go->attempt, part.go_order, *signature});
}

// A negative grace on the local wire means the order's own; the controller always says one.
Result<LauncherOrder> order_of(const KillPart& part) {
  const std::int64_t grace_ms = std::max<std::int64_t>(part.grace.ms(), 0);
  return framed(part.key, Epoch{},
                LocalKill{part.key, CauseKind::kCancelled, part.reason, grace_ms});
}

Result<LauncherOrder> order_of(const SignalPart& part) {
  return framed(part.key, Epoch{}, LocalSignal{part.key, part.signal, true});
}

Result<LauncherOrder> forget_order(AttemptKey key) {
  return framed(key, Epoch{}, LocalForget{key});
}

}  // namespace muster
