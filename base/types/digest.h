// digest_of(value): 64 bits over everything a value holds, by its fields(). Equal values give equal
// digests on every machine. An empty or zero field adds nothing, so that a field added later (with
// a zero default) leaves old digests as they were.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/types/fields.h"
#include "base/types/hash.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

class Digest {
 public:
  std::uint64_t value() const { return hash_; }

  // Visitor of fields().
  template <class T>
  void operator()(int number, std::string_view, const T& field) {
    const std::uint64_t part = of(field);
    if (part != 0) hash_ = combine64(combine64(hash_, static_cast<std::uint64_t>(number)), part);
  }

  // 0 exactly for what counts as empty: 0, false, "", no elements, only empty fields.
  template <class T>
  static std::uint64_t of(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      return value ? 1 : 0;
    else if constexpr (std::is_enum_v<T> || std::is_integral_v<T>)
      return of_number(static_cast<std::uint64_t>(value));
    else if constexpr (HasFields<T>) {
      Digest digest;
      T::fields(value, digest);
      return digest.value();
    } else {
      return of_plain(value);
    }
  }

 private:
  static std::uint64_t of_number(std::uint64_t number) { return number == 0 ? 0 : mix64(number); }
  static std::uint64_t of_plain(const std::string& text) { return text.empty() ? 0 : hash64(text); }
  template <class Tag, class Rep>
  static std::uint64_t of_plain(const Id<Tag, Rep>& id) {
    return of(id.value);
  }
  static std::uint64_t of_plain(Duration d) { return of(d.us); }
  static std::uint64_t of_plain(Instant at) { return of(at.us); }
  static std::uint64_t of_plain(WallTime at) { return of(at.us); }
  template <std::size_t N>
  static std::uint64_t of_plain(const Bytes<N>& bytes) {
    std::uint64_t any = 0;
    std::uint64_t hash = N;
    for (const std::uint8_t byte : bytes.bytes) {
      any |= byte;
      hash = combine64(hash, byte);
    }
    return any == 0 ? 0 : hash;
  }
  template <class T>
  static std::uint64_t of_plain(const std::optional<T>& value) {
    return value ? combine64(1, of(*value)) : 0;
  }
  template <class A, class B>
  static std::uint64_t of_plain(const std::pair<A, B>& pair) {
    return combine64(of(pair.first), of(pair.second));
  }
  template <class T>
  static std::uint64_t of_plain(const std::vector<T>& list) {
    return of_sequence(list);
  }
  template <class T>
  static std::uint64_t of_plain(const std::set<T>& list) {
    return of_sequence(list);
  }
  template <class K, class T>
  static std::uint64_t of_plain(const std::map<K, T>& list) {
    return of_sequence(list);
  }
  template <class List>
  static std::uint64_t of_sequence(const List& list) {
    if (list.empty()) return 0;
    std::uint64_t hash = list.size();
    for (const auto& element : list) hash = combine64(hash, of(element));
    return hash;
  }

  std::uint64_t hash_ = 0;
};

template <class T>
std::uint64_t digest_of(const T& value) {
  return Digest::of(value);
}

}  // namespace muster
