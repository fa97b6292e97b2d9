// A table from dense 64-bit keys to shared immutable values that can be published in O(changes):
// three levels of 64 slots; a publication copies only the path to what changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

namespace muster {

// One thread changes it; a copy made by publish() may be read by any thread for as long as it is
// kept.
template <class T>
class CowTable {
 public:
  using Value = std::shared_ptr<const T>;

  void set(std::uint64_t key, Value value) {
    Leaf& leaf = leaf_for(key);
    Value& slot = leaf.slots[key % kWidth];
    if (slot == nullptr && value != nullptr) ++leaf.used;
    if (slot != nullptr && value == nullptr) --leaf.used;
    slot = std::move(value);
    if (leaf.used == 0) drop_leaf(key);
  }
  void erase(std::uint64_t key) {
    if (find(key) != nullptr) set(key, nullptr);
  }

  const T* find(std::uint64_t key) const {
    const auto mid = mids_.find(key / (kWidth * kWidth));
    if (mid == mids_.end()) return nullptr;
    const auto& leaf = mid->second->leaves[key / kWidth % kWidth];
    return leaf == nullptr ? nullptr : leaf->slots[key % kWidth].get();
  }

  // In key order; visit(key, const T&) says false to stop. Begins after `after`.
  template <class F>
  void for_each(std::uint64_t after, F&& visit) const {
    for (auto mid = mids_.lower_bound(after / (kWidth * kWidth)); mid != mids_.end(); ++mid) {
      for (std::uint64_t l = 0; l < kWidth; ++l) {
        const auto& leaf = mid->second->leaves[l];
        if (leaf == nullptr) continue;
        const std::uint64_t base = (mid->first * kWidth + l) * kWidth;
        if (base + kWidth <= after) continue;
        if (!visit_leaf(*leaf, base, after, visit)) return;
      }
    }
  }

  // A copy for readers. What it shares is never changed again.
  CowTable publish() {
    CowTable copy(*this);
    ++generation_;
    return copy;
  }

 private:
  static constexpr std::uint64_t kWidth = 64;
  struct Leaf {
    std::uint64_t generation = 0;
    std::uint32_t used = 0;
    std::array<Value, kWidth> slots;
  };
  struct Mid {
    std::uint64_t generation = 0;
    std::uint32_t used = 0;
    std::array<std::shared_ptr<Leaf>, kWidth> leaves;
  };

  template <class F>
  static bool visit_leaf(const Leaf& leaf, std::uint64_t base, std::uint64_t after, F& visit) {
    for (std::uint64_t i = 0; i < kWidth; ++i) {
      if (leaf.slots[i] == nullptr || base + i <= after) continue;
      if (!visit(base + i, *leaf.slots[i])) return false;
    }
    return true;
  }

  // Nodes of this generation are ours alone; older ones are shared with a publication.
  Mid& mid_for(std::uint64_t key) {
    std::shared_ptr<Mid>& mid = mids_[key / (kWidth * kWidth)];
    if (mid == nullptr) {
      mid = std::make_shared<Mid>();
    } else if (mid->generation != generation_) {
      mid = std::make_shared<Mid>(*mid);
    }
    mid->generation = generation_;
    return *mid;
  }
  Leaf& leaf_for(std::uint64_t key) {
    Mid& mid = mid_for(key);
    std::shared_ptr<Leaf>& leaf = mid.leaves[key / kWidth % kWidth];
    if (leaf == nullptr) {
      leaf = std::make_shared<Leaf>();
      ++mid.used;
    } else if (leaf->generation != generation_) {
      leaf = std::make_shared<Leaf>(*leaf);
    }
    leaf->generation = generation_;
    return *leaf;
  }
  void drop_leaf(std::uint64_t key) {
    Mid& mid = mid_for(key);
    mid.leaves[key / kWidth % kWidth] = nullptr;
    if (--mid.used == 0) mids_.erase(key / (kWidth * kWidth));
  }

  std::uint64_t generation_ = 1;
  std::map<std::uint64_t, std::shared_ptr<Mid>> mids_;
};

}  // namespace muster
