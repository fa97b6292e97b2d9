// What few of many objects have: 8 bytes for those that do not.
#pragma once

#include <memory>
#include <utility>

namespace muster {

// A T behind a pointer that is null while it is as T{}. Copies are deep.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) { return *this = Rare(other); }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  const T& operator*() const {
    static const T kNone{};
    return value_ ? *value_ : kNone;
  }
  const T* operator->() const { return &**this; }
  bool is_kept() const { return value_ != nullptr; }
  // To be changed; made when it is not there.
  T& own() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }
  void drop() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace muster
