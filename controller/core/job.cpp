// Reading a job: which element stands where.
#include "controller/core/job.h"

#include <algorithm>

#include "base/types/digest.h"
#include "base/types/result.h"

namespace muster {
namespace {

std::uint32_t size_of(const IndexRange& range) {
  return (range.last - range.first) / range.step + 1;
}

const ElementTable kNoneTouched;
constexpr std::size_t kEndKindsMax = 10000;

// Ranges of single indices grow into longer ones.
void append(std::vector<IndexRange>& ranges, IndexRange next) {
  if (!ranges.empty()) {
    IndexRange& last = ranges.back();
    const bool single = last.first == last.last;
    const std::uint32_t gap = next.first - last.last;
    const bool next_fits = next.first == next.last || next.step == gap;
    if (next_fits && (single || last.step == gap)) {
      last.step = gap;
      last.last = next.last;
      return;
    }
  }
  ranges.push_back(next);
}

// The lowest ordinal of the span whose element is not before `from`; the span's last one is not.
std::uint32_t first_ordinal_from(const ArraySpec& array, const ElementSpan& span, Element from) {
  std::uint32_t low = span.first;
  std::uint32_t high = span.last;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (element_at(array, middle) < from)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

JobSpec JobFacts::spec() const {
  JobSpec spec;
  spec.name = name;
  spec.queue = terms->queue;
  spec.account = terms->account;
  spec.groups = terms->groups;
  spec.time_limit = terms->time_limit;
  spec.priority = terms->priority;
  spec.requeue = terms->requeue;
  spec.ports = terms->ports;
  spec.array = terms->array;
  spec.first_node_only = terms->first_node_only;
  spec.licences = terms->licences;
  spec.topology = terms->topology;
  spec.qos = terms->qos;
  spec.nice = terms->nice;
  spec.reservation = terms->reservation;
  if (gate == nullptr) return spec;
  if (!gate->depends.conditions.empty()) spec.depends = gate->depends;
  spec.begin = gate->begin;
  spec.deadline = gate->deadline;
  return spec;
}

JobTerms terms_of(const JobSpec& spec) {
  JobTerms terms;
  terms.queue = spec.queue;
  terms.account = spec.account;
  terms.groups = spec.groups;
  terms.time_limit = spec.time_limit;
  terms.priority = spec.priority;
  terms.requeue = spec.requeue;
  terms.ports = spec.ports;
  terms.array = spec.array;
  terms.first_node_only = spec.first_node_only;
  terms.licences = spec.licences;
  terms.topology = spec.topology;
  terms.qos = spec.qos;
  terms.nice = spec.nice;
  terms.reservation = spec.reservation;
  return terms;
}

JobGate gate_of(const JobSpec& spec) {
  JobGate gate{{}, spec.begin, spec.deadline};
  if (spec.depends && !spec.depends->conditions.empty()) gate.depends = *spec.depends;
  return gate;
}

std::uint32_t elements_total(const ArraySpec& array) {
  if (array.ranges.empty()) return 1;
  std::uint32_t total = 0;
  for (const IndexRange& range : array.ranges) total += size_of(range);
  return total;
}

std::optional<std::uint32_t> ordinal_of(const ArraySpec& array, Element element) {
  if (array.ranges.empty()) {
    if (element.value != 0) return std::nullopt;
    return 0U;
  }
  std::uint32_t before = 0;
  for (const IndexRange& range : array.ranges) {
    if (element.value >= range.first && element.value <= range.last) {
      const std::uint32_t offset = element.value - range.first;
      if (offset % range.step == 0) return before + offset / range.step;
    }
    before += size_of(range);
  }
  return std::nullopt;
}

Element element_at(const ArraySpec& array, std::uint32_t ordinal) {
  if (array.ranges.empty()) return Element{0};
  for (const IndexRange& range : array.ranges) {
    const std::uint32_t size = size_of(range);
    if (ordinal < size) return Element{range.first + ordinal * range.step};
    ordinal -= size;
  }
  MUSTER_ASSERT(false && "ordinal beyond the array");
  return {};
}

std::vector<IndexRange> ranges_of(const ArraySpec& array, std::uint32_t first, std::uint32_t last) {
  if (array.ranges.empty()) return {IndexRange{0, 0, 1}};
  std::vector<IndexRange> result;
  std::uint32_t before = 0;
  for (const IndexRange& range : array.ranges) {
    const std::uint32_t size = size_of(range);
    const std::uint32_t low = std::max(first, before);
    const std::uint32_t high = std::min(last, before + size - 1);
    if (low <= high && high >= before) {
      const std::uint32_t from = range.first + (low - before) * range.step;
      const std::uint32_t to = range.first + (high - before) * range.step;
      append(result, IndexRange{from, to, from == to ? 1 : range.step});
    }
    before += size;
  }
  return result;
}

Job::Job(std::shared_ptr<const JobFacts> facts, ElementState first)
    : facts_(std::move(facts)), elements_(elements_total(facts_->terms->array)), plain_(first) {
  if (is_array()) detail();
}

Job::Job(const Job& other)
    : facts_(other.facts_),
      elements_(other.elements_),
      top_(other.top_),
      plain_(other.plain_),
      held_by_operator_(other.held_by_operator_),
      detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}

Job::Detail& Job::detail() {
  if (!detail_) {
    detail_ = std::make_unique<Detail>();
    const std::uint32_t total = elements();
    detail_->spans.push_back(ElementSpan{0, total - 1, plain_, nullptr});
    detail_->counts[static_cast<std::size_t>(plain_)] = total;
  }
  return *detail_;
}

std::uint32_t Job::count(ElementState state) const {
  if (!detail_) return state == plain_ ? 1 : 0;
  return detail_->counts[static_cast<std::size_t>(state)];
}

std::shared_ptr<const EndKind> EndKinds::take(EndKind kind) {
  const std::uint64_t digest = digest_of(kind);
  const auto found = kinds_.find(digest);
  if (found != kinds_.end() && *found->second == kind) return found->second;
  auto shared = std::make_shared<const EndKind>(std::move(kind));
  if (found == kinds_.end() && kinds_.size() < kEndKindsMax) kinds_.emplace(digest, shared);
  return shared;
}

const ElementTable& Job::touched() const { return detail_ ? detail_->touched : kNoneTouched; }

std::vector<ElementSpan> Job::spans() const {
  if (detail_) return detail_->spans;
  return {ElementSpan{0, 0, plain_, nullptr}};
}

const ElementRecord* Job::find_record(Element element) const {
  return detail_ ? detail_->touched.find(element) : nullptr;
}

std::size_t Job::span_from(std::uint32_t ordinal) const {
  const auto found = std::lower_bound(
      detail_->spans.begin(), detail_->spans.end(), ordinal,
      [](const ElementSpan& span, std::uint32_t value) { return span.last < value; });
  return static_cast<std::size_t>(found - detail_->spans.begin());
}

const ElementSpan* Job::find_span(std::uint32_t ordinal) const {
  if (!detail_) return nullptr;
  const std::size_t at = span_from(ordinal);
  const bool holds = at != detail_->spans.size() && detail_->spans[at].first <= ordinal;
  return holds ? &detail_->spans[at] : nullptr;
}

std::optional<ElementState> Job::state_of(Element element) const {
  if (const ElementRecord* record = find_record(element)) return record->state;
  if (touched().find_ended(element) != nullptr) return ElementState::kEnded;
  const std::optional<std::uint32_t> ordinal = ordinal_of(facts_->terms->array, element);
  if (!ordinal) return std::nullopt;
  if (!detail_) return plain_;
  const ElementSpan* span = find_span(*ordinal);
  MUSTER_ASSERT(span != nullptr);
  return span->state;
}

std::optional<Ending> Job::find_ending(Element element) const {
  const auto copy = [](const Ending* ending) {
    return ending == nullptr ? std::nullopt : std::optional<Ending>(*ending);
  };
  if (const ElementRecord* record = find_record(element)) return copy(record->ending.get());
  if (const EndedElement* ended = touched().find_ended(element))
    return Ending{ended->kind->cause, ended->at, ended->wall};
  const std::optional<std::uint32_t> ordinal = ordinal_of(facts_->terms->array, element);
  const ElementSpan* span = ordinal ? find_span(*ordinal) : nullptr;
  return copy(span == nullptr ? nullptr : span->ending.get());
}

std::optional<AttemptSummary> Job::last_attempt(Element element) const {
  if (const ElementRecord* record = find_record(element))
    return record->last ? std::optional<AttemptSummary>(*record->last) : std::nullopt;
  const EndedElement* ended = touched().find_ended(element);
  if (ended == nullptr) return std::nullopt;
  AttemptSummary last;
  last.attempt = AttemptNo{ended->attempts};
  last.cause = ended->kind->cause;
  last.nodes = ended->kind->nodes;
  last.launched_wall = ended->launched_wall;
  last.ended_wall = ended->wall;
  last.charged = ended->charged;
  return last;
}

Duration Job::charged(Element element) const {
  const ElementRecord* record = find_record(element);
  if (record == nullptr || record->last == nullptr) return {};
  return record->last->charged_before + record->last->charged;
}

std::uint32_t Job::attempts(Element element) const {
  if (const ElementRecord* record = find_record(element)) return record->attempts;
  const EndedElement* ended = touched().find_ended(element);
  return ended == nullptr ? 0 : ended->attempts;
}

std::optional<Element> Job::first_in(ElementState state, Element from) const {
  const ArraySpec& array = facts_->terms->array;
  if (count(state) == 0) return std::nullopt;
  if (!detail_) return from.value == 0 ? std::optional<Element>(Element{0}) : std::nullopt;
  std::optional<Element> first;
  const auto ends_before = [&](const ElementSpan& span, Element element) {
    return element_at(array, span.last) < element;
  };
  auto span = std::lower_bound(detail_->spans.begin(), detail_->spans.end(), from, ends_before);
  for (; span != detail_->spans.end() && !first; ++span) {
    if (span->state == state) first = element_at(array, first_ordinal_from(array, *span, from));
  }
  if (detail_->records[static_cast<std::size_t>(state)] == 0) return first;
  detail_->touched.for_each(from, [&](Element element, const ElementRecord& record) {
    if (first && element > *first) return false;
    if (record.state != state) return true;
    first = element;
    return false;
  });
  return first;
}

std::vector<IndexRange> Job::untouched_in(ElementState state) const {
  if (!detail_ || detail_->touched.size() == 0) return ranges_in(state);
  std::vector<IndexRange> ranges;
  for (const ElementSpan& span : detail_->spans) {
    if (span.state != state) continue;
    for (const IndexRange& range : ranges_of(facts_->terms->array, span.first, span.last))
      append(ranges, range);
  }
  return ranges;
}

std::vector<IndexRange> Job::ranges_in(ElementState state) const {
  const ArraySpec& array = facts_->terms->array;
  std::vector<IndexRange> parts;
  if (!detail_) {
    if (state == plain_) parts.push_back({0, 0, 1});
    return parts;
  }
  for (const ElementSpan& span : detail_->spans) {
    if (span.state != state) continue;
    for (const IndexRange& range : ranges_of(array, span.first, span.last)) parts.push_back(range);
  }
  const auto add = [&](Element element) {
    parts.push_back({element.value, element.value, 1});
    return true;
  };
  detail_->touched.for_each({}, [&](Element element, const ElementRecord& record) {
    return record.state != state || add(element);
  });
  if (state == ElementState::kEnded)
    detail_->touched.for_each_ended(
        {}, [&](Element element, const EndedElement&) { return add(element); });
  std::sort(parts.begin(), parts.end());
  std::vector<IndexRange> ranges;
  for (const IndexRange& part : parts) append(ranges, part);
  return ranges;
}

}  // namespace muster
