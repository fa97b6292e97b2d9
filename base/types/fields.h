// One list of fields per type serves the wire, the journal, JSON and the digest.
//
//   struct Example {
//     std::uint32_t cpus = 1;
//     template <class Self, class V> static void fields(Self& self, V& visit) { visit(1, "cpus",
//     self.cpus); }
//   };
//
// Numbers are for bytes, names for people. A released number or name is never reused or changed; a
// decoder skips numbers it does not know and leaves absent fields at their defaults.
#pragma once

#include <array>
#include <concepts>
#include <string_view>
#include <type_traits>

namespace muster {

struct NoVisitor {
  template <class T>
  void operator()(int, std::string_view, T&) {}
};

template <class T>
concept HasFields = requires(T& value, NoVisitor& visitor) {
  T::fields(value, visitor);
};

// Enumerations that travel specialise this with `static constexpr std::array<std::string_view, N>
// kNames`; the enumerators count 0…N-1. Names are what people read and type.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::kNames.size();
};

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  const auto index = static_cast<std::size_t>(value);
  return index < EnumNames<E>::kNames.size() ? EnumNames<E>::kNames[index]
                                             : std::string_view("unknown");
}

// False when no enumerator has that name; out is then unchanged.
template <NamedEnum E>
constexpr bool enum_from_name(std::string_view name, E& out) {
  for (std::size_t i = 0; i < EnumNames<E>::kNames.size(); ++i) {
    if (EnumNames<E>::kNames[i] == name) {
      out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}

}  // namespace muster
