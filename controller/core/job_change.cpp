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

std::uint64_t JobChange::digest_of_ended(Element element, const EndedElement& ended) const {
  Digest digest;
  digest(1, "job", job_.facts().id);
  digest(2, "element", element.value + 1);
  digest(3, "kind", *ended.kind);
  digest(4, "at", ended.at);
  digest(5, "wall", ended.wall);
  digest(6, "launched_wall", ended.launched_wall);
  digest(7, "charged", ended.charged);
  digest(8, "attempts", ended.attempts);
  return digest.value();
}

std::uint64_t JobChange::whole() const {
  std::uint64_t sum = digest_of_head();
  if (!job_.detail_) return sum + digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr});
  for (const ElementSpan& span : job_.detail_->spans) sum += digest_of_span(span);
  job_.touched().for_each({}, [&](Element element, const ElementRecord& record) {
    sum += digest_of_record(element, record);
    return true;
  });
  job_.touched().for_each_ended({}, [&](Element element, const EndedElement& ended) {
    sum += digest_of_ended(element, ended);
    return true;
  });
  return sum;
}

void JobChange::count(const ElementRecord& record, bool in) {
  Job::Detail& detail = job_.detail();
  const auto state = static_cast<std::size_t>(record.state);
  const std::uint32_t by = in ? 1U : ~0U;  // Less one.
  detail.counts[state] += by;
  detail.records[state] += by;
  if (has_completed(record.ending)) detail.completed += by;
}

// An element of an array that ended with its attempt keeps little.
void JobChange::fold(Element element, const ElementRecord& record) {
  const bool whole = record.ending != nullptr && record.last != nullptr &&
                     record.last->cause == record.ending->cause &&
                     record.last->ended_wall == record.ending->wall &&
                     record.last->attempt.value == record.attempts && record.reason.empty();
  if (!whole || !job_.is_array()) return;
  Job::Detail& detail = job_.detail();
  drop(digest_of_record(element, record));
  if (detail.kinds == nullptr) detail.kinds = std::make_shared<EndKinds>();
  EndedElement ended{detail.kinds->take({record.ending->cause, record.last->nodes}),
                     record.ending->at,
                     record.ending->wall,
                     record.last->launched_wall,
                     record.last->charged,
                     record.attempts};
  add(digest_of_ended(element, ended));
  --detail.records[static_cast<std::size_t>(ElementState::kEnded)];
  detail.touched.put_ended(element, std::move(ended));
}

void JobChange::replace_facts(std::shared_ptr<const JobFacts> facts) {
  drop(digest_of_head());
  job_.facts_ = std::move(facts);
  add(digest_of_head());
}

void JobChange::set_top(std::int64_t top) {
  drop(digest_of_head());
  job_.top_ = top;
  add(digest_of_head());
}

void JobChange::set_held_by_operator(bool is) {
  if (job_.held_by_operator_ == is) return;
  drop(digest_of_head());
  job_.held_by_operator_ = is;
  add(digest_of_head());
}

void JobChange::mark_ended(Seq seq, Instant at) {
  drop(digest_of_head());
  job_.detail().ended_seq = seq;
  job_.detail().ended_at = at;
  add(digest_of_head());
}

void JobChange::move(const std::vector<IndexRange>& ranges, unsigned from, ElementState to,
                     std::shared_ptr<const Ending> ending) {
  MUSTER_ASSERT((to == ElementState::kEnded) == (ending != nullptr));
  if (!job_.detail_ && to != ElementState::kEnded) {
    MUSTER_ASSERT(ranges.size() == 1 && ranges[0].first == 0 && ranges[0].last == 0);
    MUSTER_ASSERT((from & bit(job_.plain_)) != 0);
    drop(digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr}));
    job_.plain_ = to;
    add(digest_of_span(ElementSpan{0, 0, job_.plain_, nullptr}));
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
  const bool one = wanted == 1 && job_.find_record(Element{range.first}) != nullptr;
  std::uint32_t moved = one ? 0 : move_spans(ElementSpan{*first, *last, to, ending}, from);
  if (moved < wanted) moved += move_touched(range, from, to, ending);
  MUSTER_ASSERT(moved == wanted);
}

// Puts the pieces in place of the spans in [from, to); neighbours that are alike become one.
void JobChange::splice(std::size_t from, std::size_t to, const std::vector<ElementSpan>& pieces) {
  std::vector<ElementSpan>& spans = job_.detail().spans;
  std::vector<ElementSpan> merged;
  if (from > 0) push(merged, spans[--from]);
  for (const ElementSpan& piece : pieces) push(merged, piece);
  if (to < spans.size()) push(merged, spans[to++]);
  for (std::size_t i = from; i < to; ++i) drop(digest_of_span(spans[i]));
  for (const ElementSpan& span : merged) add(digest_of_span(span));
  const std::size_t same = std::min(to - from, merged.size());
  std::move(merged.begin(), merged.begin() + static_cast<std::ptrdiff_t>(same),
            spans.begin() + static_cast<std::ptrdiff_t>(from));
  const auto rest = spans.begin() + static_cast<std::ptrdiff_t>(from + same);
  if (same < merged.size())
    spans.insert(rest, std::make_move_iterator(merged.begin() + static_cast<std::ptrdiff_t>(same)),
                 std::make_move_iterator(merged.end()));
  else
    spans.erase(rest, spans.begin() + static_cast<std::ptrdiff_t>(to));
}

// Cuts `range` out of the spans and puts it in with its own state.
std::uint32_t JobChange::move_spans(ElementSpan range, unsigned from) {
  Job::Detail& detail = job_.detail();
  std::vector<ElementSpan> pieces;
  std::uint32_t moved = 0;
  const std::size_t first = job_.span_from(range.first);
  std::size_t at = first;
  for (; at < detail.spans.size() && detail.spans[at].first <= range.last; ++at) {
    const ElementSpan& span = detail.spans[at];
    const std::uint32_t low = std::max(span.first, range.first);
    const std::uint32_t high = std::min(span.last, range.last);
    MUSTER_ASSERT((from & bit(span.state)) != 0);
    const std::uint32_t size = high - low + 1;
    detail.counts[static_cast<std::size_t>(span.state)] -= size;
    detail.counts[static_cast<std::size_t>(range.state)] += size;
    detail.completed += has_completed(range.ending) ? size : 0U;
    moved += size;
    if (span.first < low) push(pieces, ElementSpan{span.first, low - 1, span.state, span.ending});
    push(pieces, ElementSpan{low, high, range.state, range.ending});
    if (high < span.last) push(pieces, ElementSpan{high + 1, span.last, span.state, span.ending});
  }
  if (moved != 0) splice(first, at, pieces);
  return moved;
}

std::uint32_t JobChange::move_touched(const IndexRange& range, unsigned from, ElementState to,
                                      const std::shared_ptr<const Ending>& ending) {
  std::vector<Element> meant;
  job_.touched().for_each(Element{range.first}, [&](Element element, const ElementRecord& record) {
    if (element.value > range.last) return false;
    if ((element.value - range.first) % range.step != 0) return true;
    MUSTER_ASSERT((from & bit(record.state)) != 0);
    meant.push_back(element);
    return true;
  });
  for (const Element element : meant) {
    touch(element, [&](ElementRecord& record) {
      record.state = to;
      record.ending = ending;
      if (to ==
          ElementState::kPending) {  // Released by a person: the count of faults begins again.
        record.retries = 0;
        record.not_before = {};
      }
      if (to != ElementState::kHeld) record.reason.clear();
    });
  }
  return static_cast<std::uint32_t>(meant.size());
}

ElementRecord& JobChange::take_record(Element element) {
  Job::Detail& detail = job_.detail();
  if (detail.touched.find(element) != nullptr) return detail.touched.take(element);
  const std::optional<std::uint32_t> ordinal = ordinal_of(job_.facts().terms->array, element);
  MUSTER_ASSERT(ordinal.has_value());
  const std::size_t at = job_.span_from(*ordinal);
  MUSTER_ASSERT(at < detail.spans.size() && detail.spans[at].first <= *ordinal);
  const ElementSpan span = detail.spans[at];
  MUSTER_ASSERT(span.state != ElementState::kEnded);
  std::vector<ElementSpan> rest;
  if (span.first < *ordinal) rest.push_back({span.first, *ordinal - 1, span.state, nullptr});
  if (*ordinal < span.last) rest.push_back({*ordinal + 1, span.last, span.state, nullptr});
  splice(at, at + 1, rest);
  ElementRecord& record = detail.touched.take(element);
  record.state = span.state;
  ++detail.records[static_cast<std::size_t>(span.state)];
  add(digest_of_record(element, record));
  return record;
}

}  // namespace muster
