// Changes to one job that keep the cluster's digest true. Used by apply() only.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "controller/core/job.h"

namespace muster {

std::uint64_t digest_of_facts(const JobFacts& facts);
inline bool has_completed(const std::shared_ptr<const Ending>& ending) {
  return ending != nullptr && ending->cause.kind == CauseKind::kCompleted;
}

class JobChange {
 public:
  // Both must outlive the change.
  JobChange(Job& job, std::uint64_t& digest) : job_(job), digest_(digest) {}

  // The whole job enters or leaves the digest.
  void add_to_digest() { add(whole()); }
  void remove_from_digest() { digest_ -= job_.digest_; }

  void replace_facts(std::shared_ptr<const JobFacts> facts);
  void set_top(std::int64_t top);
  void set_held_by_operator(bool is);
  // Every listed element must be in one of the states in `from` (bit 1 << state). ending goes with
  // kEnded.
  void move(const std::vector<IndexRange>& ranges, unsigned from, ElementState to,
            std::shared_ptr<const Ending> ending);
  // The element has a record afterwards; change(record) may alter everything in it.
  template <class Change>
  void touch(Element element, Change change) {
    ElementRecord& record = take_record(element);
    drop(digest_of_record(element, record));
    count(record, false);
    change(record);
    count(record, true);
    add(digest_of_record(element, record));
    fold(element, record);
  }
  void mark_ended(Seq seq, Instant at);

 private:
  void add(std::uint64_t part) {
    digest_ += part;
    job_.digest_ += part;
  }
  void drop(std::uint64_t part) { add(0 - part); }
  void count(const ElementRecord& record, bool in);
  void fold(Element element, const ElementRecord& record);
  std::uint64_t whole() const;
  std::uint64_t digest_of_head() const;
  std::uint64_t digest_of_span(const ElementSpan& span) const;
  std::uint64_t digest_of_record(Element element, const ElementRecord& record) const;
  std::uint64_t digest_of_ended(Element element, const EndedElement& ended) const;
  ElementRecord& take_record(Element element);
  void splice(std::size_t from, std::size_t to, const std::vector<ElementSpan>& pieces);
  std::uint32_t move_spans(ElementSpan range, unsigned from);
  std::uint32_t move_touched(const IndexRange& range, unsigned from, ElementState to,
                             const std::shared_ptr<const Ending>& ending);
  void move_range(const IndexRange& range, unsigned from, ElementState to,
                  const std::shared_ptr<const Ending>& ending);

  Job& job_;
  std::uint64_t& digest_;
};

}  // namespace muster
