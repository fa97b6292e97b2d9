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
  void add_to_digest() { digest_ += whole(); }
  void remove_from_digest() { digest_ -= whole(); }

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
    Job::Detail& detail = job_.detail();
    digest_ -= digest_of_record(element, record);
    --detail.counts[static_cast<std::size_t>(record.state)];
    detail.completed -= has_completed(record.ending) ? 1U : 0U;
    change(record);
    ++detail.counts[static_cast<std::size_t>(record.state)];
    detail.completed += has_completed(record.ending) ? 1U : 0U;
    digest_ += digest_of_record(element, record);
  }
  void mark_ended(Seq seq, Instant at);

 private:
  std::uint64_t whole() const;
  std::uint64_t digest_of_head() const;
  std::uint64_t digest_of_span(const ElementSpan& span) const;
  std::uint64_t digest_of_record(Element element, const ElementRecord& record) const;
  ElementRecord& take_record(Element element);
  std::uint32_t move_spans(ElementSpan range, unsigned from);
  std::uint32_t move_touched(const IndexRange& range, unsigned from, ElementState to,
                             const std::shared_ptr<const Ending>& ending);
  void move_range(const IndexRange& range, unsigned from, ElementState to,
                  const std::shared_ptr<const Ending>& ending);

  Job& job_;
  std::uint64_t& digest_;
};

}  // namespace muster
