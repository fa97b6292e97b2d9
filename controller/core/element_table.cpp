// Finding elements, and copying what is shared before it changes.
#include "controller/core/element_table.h"

#include "base/types/result.h"
#include "controller/core/job.h"

namespace muster {
namespace {

constexpr std::size_t kGrowth = 8;  // Ends are many: no doubling.

template <class T>
T& at(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

}  // namespace

const ElementTable::Leaf* ElementTable::find_leaf(Element element) const {
  const std::size_t m = element.value / kWidth / kWidth;
  const std::size_t l = element.value / kWidth % kWidth;
  if (m >= mids_.size() || mids_[m] == nullptr || l >= mids_[m]->leaves.size()) return nullptr;
  return mids_[m]->leaves[l].get();
}

const ElementRecord* ElementTable::find(Element element) const {
  const Leaf* leaf = find_leaf(element);
  if (leaf == nullptr || (leaf->live & bit_of(element)) == 0) return nullptr;
  return &leaf->records[rank(leaf->live, element)];
}

const EndedElement* ElementTable::find_ended(Element element) const {
  const Leaf* leaf = find_leaf(element);
  if (leaf == nullptr || (leaf->over & bit_of(element)) == 0) return nullptr;
  return &leaf->ended[rank(leaf->over, element)];
}

ElementTable::Leaf& ElementTable::own_leaf(Element element) {
  std::shared_ptr<Mid>& mid = at(mids_, element.value / kWidth / kWidth);
  if (mid == nullptr)
    mid = std::make_shared<Mid>();
  else if (mid->generation != generation_)
    mid = std::make_shared<Mid>(*mid);
  mid->generation = generation_;
  std::shared_ptr<Leaf>& leaf = at(mid->leaves, element.value / kWidth % kWidth);
  if (leaf == nullptr)
    leaf = std::make_shared<Leaf>();
  else if (leaf->generation != generation_)
    leaf = std::make_shared<Leaf>(*leaf);
  leaf->generation = generation_;
  return *leaf;
}

ElementRecord& ElementTable::take(Element element) {
  Leaf& leaf = own_leaf(element);
  MUSTER_ASSERT((leaf.over & bit_of(element)) == 0);
  const std::size_t place = rank(leaf.live, element);
  if ((leaf.live & bit_of(element)) == 0) {
    leaf.records.insert(leaf.records.begin() + static_cast<std::ptrdiff_t>(place), ElementRecord{});
    leaf.live |= bit_of(element);
    ++size_;
  }
  return leaf.records[place];
}

void ElementTable::put_ended(Element element, EndedElement ended) {
  Leaf& leaf = own_leaf(element);
  MUSTER_ASSERT((leaf.over & bit_of(element)) == 0);
  if ((leaf.live & bit_of(element)) != 0) {
    const auto place = static_cast<std::ptrdiff_t>(rank(leaf.live, element));
    leaf.records.erase(leaf.records.begin() + place);
    leaf.live &= ~bit_of(element);
    if (leaf.records.empty()) leaf.records.shrink_to_fit();
  } else {
    ++size_;
  }
  if (leaf.ended.size() == leaf.ended.capacity()) leaf.ended.reserve(leaf.ended.size() + kGrowth);
  const auto place = static_cast<std::ptrdiff_t>(rank(leaf.over, element));
  leaf.ended.insert(leaf.ended.begin() + place, std::move(ended));
  leaf.over |= bit_of(element);
}

}  // namespace muster
