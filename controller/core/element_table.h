// The elements of a job that have had an attempt, by number. A copy shares everything with the
// original until the original changes, and then all but what changes: a reader's copy of a large
// array costs what has changed since the last.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types/cause.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

enum class ElementState : std::uint8_t;
struct AttemptSummary;
struct Ending;

// An element that has had an attempt.
struct ElementRecord {
  ElementState state{};
  std::uint32_t attempts = 0;  // Begun so far; the newest has this number.
  std::uint32_t retries = 0;   // Of these, repeats after faults that were not the job's own.
  Instant not_before;          // Backoff.
  std::vector<NodeId> nodes_avoided;
  std::string reason;                          // Why it is pending or held again; empty otherwise.
  std::shared_ptr<const AttemptSummary> last;  // Null before the first attempt is over.
  std::shared_ptr<const Ending> ending;        // Not null exactly when ended.
};

// How and where elements of an array ended; one for all that ended alike.
struct EndKind {
  Cause cause;
  std::vector<NodeId> nodes;  // Of the last attempt, in rank order.
  auto operator<=>(const EndKind&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "cause", self.cause);
    visit(2, "nodes", self.nodes);
  }
};

// What is kept of an element that ended with its last attempt.
struct EndedElement {
  std::shared_ptr<const EndKind> kind;  // Never null.
  Instant at;
  WallTime wall;
  WallTime launched_wall;  // 0: its last attempt never launched.
  Duration charged;
  std::uint32_t attempts = 0;
};
static_assert(sizeof(EndedElement) <= 56, "64 bytes per ended element, with what holds it");

class ElementTable {
 public:
  ElementTable() = default;
  // Copied on the thread that changes the original only.
  ElementTable(const ElementTable& other)
      : mids_(other.mids_), size_(other.size_), generation_(++other.generation_) {}
  ElementTable(ElementTable&&) noexcept = default;
  ElementTable& operator=(ElementTable&&) noexcept = default;

  std::size_t size() const { return size_; }
  const ElementRecord* find(Element element) const;
  const EndedElement* find_ended(Element element) const;
  // Made when it is not there; it must not be one that has ended.
  ElementRecord& take(Element element);
  // Instead of its record.
  void put_ended(Element element, EndedElement ended);

  // In order; visit(Element, const ElementRecord&), from `from` on, until it says false.
  template <class F>
  void for_each(Element from, F&& visit) const {
    for_each_leaf(from, [&](std::uint32_t base, const Leaf& leaf) {
      return each_bit(leaf.live, base, from, [&](Element element, std::size_t at) {
        return visit(element, leaf.records[at]);
      });
    });
  }
  template <class F>
  void for_each_ended(Element from, F&& visit) const {
    for_each_leaf(from, [&](std::uint32_t base, const Leaf& leaf) {
      return each_bit(leaf.over, base, from, [&](Element element, std::size_t at) {
        return visit(element, leaf.ended[at]);
      });
    });
  }

 private:
  static constexpr std::uint32_t kWidth = 64;
  struct Leaf {
    std::uint64_t generation = 0;
    std::uint64_t live = 0;  // A bit for each of `records`, in order.
    std::uint64_t over = 0;  // And of `ended`.
    std::vector<ElementRecord> records;
    std::vector<EndedElement> ended;
  };
  struct Mid {
    std::uint64_t generation = 0;
    std::vector<std::shared_ptr<Leaf>> leaves;
  };

  static std::uint64_t bit_of(Element element) {
    return std::uint64_t{1} << element.value % kWidth;
  }
  // How many come before it.
  static std::size_t rank(std::uint64_t bits, Element element) {
    return static_cast<std::size_t>(std::popcount(bits & (bit_of(element) - 1)));
  }
  const Leaf* find_leaf(Element element) const;
  Leaf& own_leaf(Element element);

  template <class F>
  static bool each_bit(std::uint64_t bits, std::uint32_t base, Element from, F&& visit) {
    for (std::size_t at = 0; bits != 0; bits &= bits - 1, ++at) {
      const Element element{base + static_cast<std::uint32_t>(std::countr_zero(bits))};
      if (element >= from && !visit(element, at)) return false;
    }
    return true;
  }
  template <class F>
  void for_each_leaf(Element from, F&& visit) const {
    std::size_t l = from.value / kWidth % kWidth;
    for (std::size_t m = from.value / kWidth / kWidth; m < mids_.size(); ++m, l = 0) {
      if (mids_[m] == nullptr) continue;
      for (; l < mids_[m]->leaves.size(); ++l) {
        const auto& leaf = mids_[m]->leaves[l];
        if (leaf == nullptr) continue;
        if (!visit(static_cast<std::uint32_t>((m * kWidth + l) * kWidth), *leaf)) return;
      }
    }
  }

  std::vector<std::shared_ptr<Mid>> mids_;
  std::size_t size_ = 0;
  mutable std::uint64_t generation_ = 1;  // What is of an older one may be shared with a copy.
};

}  // namespace muster
