// Splitting and joining the spans of a job, with the digest following.
#include "controller/core/job_change.h"

#include <algorithm>

#include "base/types/digest.h"

namespace muster {
namespace {

unsigned bit(ElementState state) { return 1U << static_cast<unsigned>(state); }

std::uint64_t digest_of_ending(const std::shared_ptr<const Ending>& ending) {
  return ending ? digest_of(*ending) : 0;
}

void push(std::vector<ElementSpan>& spans, ElementSpan span) {
  if (!spans.empty()) {
    ElementSpan& last = spans.back();
    if (last.last + 1 == span.first && last.state == span.state && last.ending == span.ending) {
      last.last = span.last;
      return;
    }
  }
  spans.push_back(std::move(span));
}

}  // namespace

std::uint64_t digest_of_facts(const JobFacts& facts) {
  Digest digest;
  digest(1, "id", facts.id);
  digest(2, "request", facts.request);
  digest(3, "request_index", facts.request_index);
  digest(4, "name", facts.name);
  digest(5, "owner", *facts.owner);
  digest(6, "terms", *facts.terms);
  digest(7, "launch", facts.launch);
  digest(8, "script", facts.script);
  digest(9, "environment", facts.environment);
  digest(10, "submitted_at", facts.submitted_at);
  digest(11, "submitted_wall", facts.submitted_wall);
  if (facts.gate) digest(12, "gate", *facts.gate);
  return digest.value();
}

std::uint64_t JobChange::digest_of_head() const {
  std::uint64_t hash =
      combine64(digest_of_facts(job_.facts()), static_cast<std::uint64_t>(job_.top_));
  constexpr std::uint64_t kHeldByOperator = 0x6f70657261746f72ULL;
  if (job_.is_held_by_operator()) hash = combine64(hash, kHeldByOperator);
  const Seq ended = job_.ended_seq();
  if (ended.value != 0) {
    hash = combine64(hash, ended.value);
    hash = combine64(hash, static_cast<std::uint64_t>(job_.ended_at().us));
  }
  return hash;
}

std::uint64_t JobChange::digest_of_span(const ElementSpan& span) const {
  std::uint64_t hash = combine64(job_.facts().id.value, span.first);
  hash = combine64(hash, span.last);
  hash = combine64(hash, static_cast<std::uint64_t>(span.state));
  return combine64(hash, digest_of_ending(span.ending));
}

std::uint64_t JobChange::digest_of_record(Element element, const ElementRecord& record) const {
  Digest digest;
  digest(1, "job", job_.facts().id);
  digest(2, "element", element.value + 1);
  digest(3, "state", record.state);
  digest(4, "attempts", record.attempts);
  digest(5, "retries", record.retries);
  digest(6, "not_before", record.not_before);
  digest(7, "nodes_avoided", record.nodes_avoided);
  digest(8, "reason", record.reason);
  if (record.last) digest(9, "last", *record.last);
  digest(10, "ending", digest_of_ending(record.ending));
  return digest.value();
}

std::uint64_t JobChange::whole() const {
  std::uint64_t sum = digest_of_head();
  if (!job_.detail_) return sum + digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr});
  for (const ElementSpan& span : job_.detail_->spans) sum += digest_of_span(span);
  for (const auto& [element, record] : job_.detail_->touched) {
    sum += digest_of_record(element, record);
  }
  return sum;
}

void JobChange::replace_facts(std::shared_ptr<const JobFacts> facts) {
  digest_ -= digest_of_head();
  job_.facts_ = std::move(facts);
  digest_ += digest_of_head();
}

void JobChange::set_top(std::int64_t top) {
  digest_ -= digest_of_head();
  job_.top_ = top;
  digest_ += digest_of_head();
}

void JobChange::set_held_by_operator(bool is) {
  if (job_.held_by_operator_ == is) return;
  digest_ -= digest_of_head();
  job_.held_by_operator_ = is;
  digest_ += digest_of_head();
}

void JobChange::mark_ended(Seq seq, Instant at) {
  digest_ -= digest_of_head();
  job_.detail().ended_seq = seq;
  job_.detail().ended_at = at;
  digest_ += digest_of_head();
}

void JobChange::move(const std::vector<IndexRange>& ranges, unsigned from, ElementState to,
                     std::shared_ptr<const Ending> ending) {
  MUSTER_ASSERT((to == ElementState::kEnded) == (ending != nullptr));
  if (!job_.detail_ && to != ElementState::kEnded) {
    MUSTER_ASSERT(ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last == 0);
    MUSTER_ASSERT((from & bit(job_.plain_)) != 0);
    digest_ -= digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr});
    job_.plain_ = to;
    digest_ += digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr});
    return;
  }
  for (const IndexRange& range : ranges) move_range(range, from, to, ending);
}

// A range with a step may be contiguous in ordinals (the array has that step) or not.
void JobChange::move_range(const IndexRange& range, unsigned from, ElementState to,
                           const std::shared_ptr<const Ending>& ending) {
  const ArraySpec& array = job_.facts().terms->array;
  MUSTER_ASSERT(range.step >= 1 && range.first <= range.last);
  const std::uint32_t wanted = (range.last - range.first) / range.step + 1;
  const std::uint32_t last_index = range.first + (wanted - 1) * range.step;
  const std::optional<std::uint32_t> first = ordinal_of(array, Element{range.first});
  const std::optional<std::uint32_t> last = ordinal_of(array, Element{last_index});
  MUSTER_ASSERT(first && last);
  if (*last - *first + 1 != wanted) {
    for (std::uint32_t i = 0; i < wanted; ++i) {
      const std::uint32_t index = range.first + i * range.step;
      move_range(IndexRange{index, index, 1}, from, to, ending);
    }
    return;
  }
  std::uint32_t moved = move_spans(ElementSpan{*first, *last, to, ending}, from);
  if (moved < wanted) moved += move_touched(range, from, to, ending);
  MUSTER_ASSERT(moved == wanted);
}

// Rebuilds the spans with `range` cut out of the old ones and put in with its own state.
std::uint32_t JobChange::move_spans(ElementSpan range, unsigned from) {
  Job::Detail& detail = job_.detail();
  std::vector<ElementSpan> spans;
  std::uint32_t moved = 0;
  for (const ElementSpan& span : detail.spans) {
    digest_ -= digest_of_span(span);
    const std::uint32_t low = std::max(span.first, range.first);
    const std::uint32_t high = std::min(span.last, range.last);
    if (low > high) {
      push(spans, span);
      continue;
    }
    MUSTER_ASSERT((from & bit(span.state)) != 0);
    const std::uint32_t size = high - low + 1;
    detail.counts[static_cast<std::size_t>(span.state)] -= size;
    detail.counts[static_cast<std::size_t>(range.state)] += size;
    detail.completed += has_completed(range.ending) ? size : 0U;
    moved += size;
    if (span.first < low) push(spans, ElementSpan{span.first, low - 1, span.state, span.ending});
    push(spans, ElementSpan{low, high, range.state, range.ending});
    if (high < span.last) push(spans, ElementSpan{high + 1, span.last, span.state, span.ending});
  }
  for (const ElementSpan& span : spans) digest_ += digest_of_span(span);
  detail.spans = std::move(spans);
  return moved;
}

std::uint32_t JobChange::move_touched(const IndexRange& range, unsigned from, ElementState to,
                                      const std::shared_ptr<const Ending>& ending) {
  Job::Detail& detail = job_.detail();
  std::uint32_t moved = 0;
  auto it = detail.touched.lower_bound(Element{range.first});
  for (; it != detail.touched.end() && it->first.value <= range.last; ++it) {
    if ((it->first.value - range.first) % range.step != 0) continue;
    MUSTER_ASSERT((from & bit(it->second.state)) != 0);
    touch(it->first, [&](ElementRecord& record) {
      record.state = to;
      record.ending = ending;
      if (to ==
          ElementState::kPending) {  // Released by a person: the count of faults begins again.
        record.retries = 0;
        record.not_before = {};
      }
      if (to != ElementState::kHeld) record.reason.clear();
    });
    ++moved;
  }
  return moved;
}

ElementRecord& JobChange::take_record(Element element) {
  Job::Detail& detail = job_.detail();
  const auto found = detail.touched.find(element);
  if (found != detail.touched.end()) return found->second;
  const std::optional<std::uint32_t> ordinal = ordinal_of(job_.facts().terms->array, element);
  MUSTER_ASSERT(ordinal.has_value());
  const ElementSpan* span = job_.find_span(*ordinal);
  MUSTER_ASSERT(span != nullptr && span->state != ElementState::kEnded);
  auto at = detail.spans.begin() + (span - detail.spans.data());
  const ElementState state = at->state;
  digest_ -= digest_of_span(*at);
  const ElementSpan rest{*ordinal + 1, at->last, state, nullptr};
  if (at->first < *ordinal) {
    at->last = *ordinal - 1;
    digest_ += digest_of_span(*at);
    if (rest.first <= rest.last) {
      digest_ += digest_of_span(rest);
      detail.spans.insert(at + 1, rest);
    }
  } else if (rest.first <= rest.last) {
    at->first = rest.first;
    digest_ += digest_of_span(*at);
  } else {
    detail.spans.erase(at);
  }
  ElementRecord& record = detail.touched[element];
  record.state = state;
  digest_ += digest_of_record(element, record);
  return record;
}

}  // namespace muster
