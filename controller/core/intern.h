// One shared object per distinct value, kept as long as someone counts on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/types/digest.h"
#include "base/types/result.h"

namespace muster {

// Every take() is matched by one drop(). Not thread-safe; the objects handed out are immutable and
// may be read anywhere.
template <class T>
class InternPool {
 public:
  std::shared_ptr<const T> take(const T& value) {
    const std::uint64_t digest = digest_of(value);
    for (auto [it, end] = entries_.equal_range(digest); it != end; ++it) {
      if (*it->second.value == value) {
        ++it->second.uses;
        return it->second.value;
      }
    }
    auto shared = std::make_shared<const T>(value);
    entries_.emplace(digest, Entry{shared, 1});
    return shared;
  }

  void drop(const std::shared_ptr<const T>& value) {
    for (auto [it, end] = entries_.equal_range(digest_of(*value)); it != end; ++it) {
      if (it->second.value != value) continue;
      if (--it->second.uses == 0) entries_.erase(it);
      return;
    }
    MUSTER_ASSERT(false && "dropped value was never taken");
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const T> value;
    std::uint64_t uses = 0;
  };
  std::multimap<std::uint64_t, Entry> entries_;
};

}  // namespace muster
