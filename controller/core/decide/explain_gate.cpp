// Saying what is waited for.
#include "controller/core/decide/explain_gate.h"

namespace muster {
namespace {

constexpr std::size_t kConditionsShown = 3;

std::string state_text(const Job& job, const std::optional<Element>& element) {
  const auto all = job.elements();
  if (element || all == 1) {
    const Element one = element.value_or(element_at(job.facts().terms->array, 0));
    if (const std::optional<Ending> ending = job.find_ending(one))
      return "ended (" + std::string(name_of(ending->cause.kind)) + ")";
    const ElementState state = job.state_of(one).value_or(ElementState::kPending);
    return state == ElementState::kActive ? "runs" : "is " + std::string(name_of(state));
  }
  const std::uint32_t ended = job.count(ElementState::kEnded);
  std::string text = std::to_string(ended) + " of " + std::to_string(all) + " elements have ended";
  if (ended != job.completed())
    text += ", " + std::to_string(ended - job.completed()) + " of these not well";
  return text;
}

// "afterok:12 (job 12, prepare of kim, runs)"
std::string condition_text(const GateQuestion& asked, const Condition& condition, Judged judged) {
  std::string text = to_text(condition);
  if (condition.kind == After::kSingleton) {
    const std::vector<JobId> before =
        asked.gates.namesakes_before(asked.cluster, asked.job, asked.job.facts().name);
    if (before.empty()) return text;
    return text + " (job " + std::to_string(before.front().value) +
           " of the same name comes first" +
           (before.size() > 1 ? " and " + std::to_string(before.size() - 1) + " more" : "") + ")";
  }
  const Job* target = asked.cluster.find_job(condition.job);
  if (target == nullptr) return text;
  std::optional<Element> element = condition.element;
  if (condition.kind == After::kCorr) element = asked.element;
  ElementKey key{condition.job, element.value_or(Element{})};
  text += " (job " + (element ? to_text(key, true) : std::to_string(condition.job.value)) + ", " +
          target->facts().name + " of " + target->facts().user() + ", " +
          state_text(*target, element);
  if (judged.state == GateState::kLater) text += "; holds in " + to_text(judged.at - asked.now);
  return text + ")";
}

}  // namespace

void explain_gate(Explanation& why, const GateQuestion& asked) {
  const JobGate& gate = *asked.job.facts().gate;
  const std::string name = to_text({asked.job.facts().id, asked.element}, asked.job.is_array());
  const std::string set = "gpujob set " + std::to_string(asked.job.facts().id.value);
  const Judged whole = asked.gates.judge(asked.cluster, asked.job, asked.element, asked.now);
  if (whole.state == GateState::kHolds) {
    why.reason = WaitReason::kNotYet;
    why.sentence = "begins not before " + to_rfc3339(gate.begin) + "; " + set +
                   " begin=now lets it stand in line at once";
    return;
  }
  const bool never = whole.state == GateState::kNever;
  why.reason = never ? WaitReason::kDependencyNever : WaitReason::kDependency;
  std::string list;
  std::size_t shown = 0;
  std::size_t listed = 0;
  for (const Condition& condition : gate.depends.conditions) {
    const Judged judged =
        asked.gates.judge(asked.cluster, asked.job, condition, asked.element, asked.now);
    const bool wanted = never
                            ? judged.state == GateState::kNever
                            : judged.state == GateState::kOpen || judged.state == GateState::kLater;
    if (!wanted) continue;
    ++listed;
    if (shown == kConditionsShown) continue;
    ++shown;
    list += (list.empty()       ? ""
             : gate.depends.any ? " or "
                                : " and ") +
            condition_text(asked, condition, judged);
  }
  if (listed > shown) list += " and " + std::to_string(listed - shown) + " more";
  why.sentence = never
                     ? "can never start: " + list + " can hold no more; cancel it with gpucancel " +
                           name + ", or change what it waits for with " + set + " dependency=…"
                     : "waits for " + list + "; " + set + " dependency= takes that away";
}

std::optional<WaitReason> gate_reason(const Cluster& cluster, const Gates& gates,
                                      const JobSpec& spec, Instant now) {
  const JobGate gate = gate_of(spec);
  if (!gate.waits()) return std::nullopt;
  auto facts = std::make_shared<JobFacts>();
  facts->terms = std::make_shared<const JobTerms>(terms_of(spec));
  facts->gate = std::make_shared<const JobGate>(gate);
  facts->owner = std::make_shared<const JobOwner>();
  facts->name = spec.name;
  const Job job(std::move(facts), ElementState::kWaiting);
  const Element first = *job.first_in(ElementState::kWaiting);
  const Judged judged = gates.judge(cluster, job, first, now);
  if (judged.state == GateState::kNever) return WaitReason::kDependencyNever;
  if (judged.state != GateState::kHolds) return WaitReason::kDependency;
  if (gate.begin.us != 0) return WaitReason::kNotYet;
  return std::nullopt;
}

}  // namespace muster
