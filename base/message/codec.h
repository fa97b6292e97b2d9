// Bytes from and to any type with `fields` (base/types/fields.h): a map from field number to value.
// Unknown numbers are skipped, absent ones keep their default; a wrong type or an unknown
// enumerator is an error that names the field. Doubles do not travel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/message/pack.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/result.h"
#include "base/types/time.h"

namespace muster {

namespace codec {

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsId : std::false_type {};
template <class Tag, class Rep>
struct IsId<Id<Tag, Rep>> : std::true_type {};
template <class T>
struct IsBytes : std::false_type {};
template <std::size_t N>
struct IsBytes<Bytes<N>> : std::true_type {};
template <class T>
concept IsTime =
    std::is_same_v<T, Instant> || std::is_same_v<T, Duration> || std::is_same_v<T, WallTime>;

template <class T>
void write(Packer& packer, const T& value);

struct FieldWriter {
  Packer& packer;
  template <class F>
  void operator()(int field, std::string_view, const F& value) {
    packer.unsigned_integer(static_cast<std::uint64_t>(field));
    write(packer, value);
  }
};

struct FieldCounter {
  std::size_t count = 0;
  template <class F>
  void operator()(int, std::string_view, const F&) {
    ++count;
  }
};

template <class T>
void write(Packer& packer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    packer.boolean(value);
  } else if constexpr (std::is_enum_v<T>) {
    packer.unsigned_integer(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    packer.signed_integer(value);
  } else if constexpr (std::is_integral_v<T>) {
    packer.unsigned_integer(value);
  } else if constexpr (IsId<T>::value) {
    packer.unsigned_integer(value.value);
  } else if constexpr (IsTime<T>) {
    packer.signed_integer(value.us);
  } else if constexpr (IsBytes<T>::value) {
    packer.string({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
  } else if constexpr (std::is_same_v<T, std::string>) {
    packer.string(value);
  } else if constexpr (IsOptional<T>::value) {
    if (value.has_value()) {
      write(packer, *value);
    } else {
      packer.nil();
    }
  } else if constexpr (IsVector<T>::value) {
    packer.array(value.size());
    for (const auto& item : value) write<typename T::value_type>(packer, item);
  } else {
    static_assert(HasFields<T>, "a type that travels lists its fields");
    FieldCounter counter;
    T::fields(value, counter);
    packer.map(counter.count);
    FieldWriter writer{packer};
    T::fields(value, writer);
  }
}

template <class T>
bool read(ValueView view, T& out, std::string& problem);

template <class F>
bool read_field(ValueView view, std::string_view name, F& out, std::string& problem) {
  if (read(view, out, problem)) return true;
  problem = problem.empty() ? std::string(name) : std::string(name) + "." + problem;
  return false;
}

// Fields in the order in which they are declared: the map is walked once beside them. Stops at the
// first key that does not come in this order.
struct InOrderReader {
  ValueView map;
  std::string& problem;
  std::size_t size;
  std::size_t at = 0;
  bool ok = true;
  template <class F>
  void operator()(int field, std::string_view name, F& out) {
    std::uint64_t number = 0;
    if (!ok || at == size || !map.key(at).read(number)) return;
    if (static_cast<std::uint64_t>(field) != number) return;
    ok = read_field(map.value(at++), name, out, problem);
  }
};

struct FieldReader {
  std::uint64_t number;
  ValueView view;
  std::string& problem;
  bool ok = true;
  bool found = false;
  template <class F>
  void operator()(int field, std::string_view name, F& out) {
    if (found || static_cast<std::uint64_t>(field) != number) return;
    found = true;
    ok = read_field(view, name, out, problem);
  }
};

template <class T>
bool read_integer(ValueView view, T& out) {
  if constexpr (std::is_signed_v<T>) {
    std::int64_t wide = 0;
    if (!view.read(wide) || !std::in_range<T>(wide)) return false;
    out = static_cast<T>(wide);
  } else {
    std::uint64_t wide = 0;
    if (!view.read(wide) || !std::in_range<T>(wide)) return false;
    out = static_cast<T>(wide);
  }
  return true;
}

template <class T>
bool read_enum(ValueView view, T& out) {
  static_assert(NamedEnum<T>, "an enumeration that travels has names");
  std::uint64_t wide = 0;
  if (!view.read(wide) || wide >= EnumNames<T>::kNames.size()) return false;
  out = static_cast<T>(wide);
  return true;
}

template <class T>
bool read_fields(ValueView view, T& out, std::string& problem) {
  if (!view.is_map()) return false;
  InOrderReader in_order{view, problem, view.size()};
  T::fields(out, in_order);
  if (!in_order.ok) return false;
  for (std::size_t i = in_order.at; i < view.size(); ++i) {
    std::uint64_t number = 0;
    if (!view.key(i).read(number)) return false;
    FieldReader reader{number, view.value(i), problem};
    T::fields(out, reader);
    if (!reader.ok) return false;
  }
  return true;
}

template <class T>
bool read_string(ValueView view, T& out) {
  std::string_view text;
  if (!view.read(text)) return false;
  if constexpr (IsBytes<T>::value) {
    if (text.size() != out.bytes.size()) return false;
    std::copy(text.begin(), text.end(), out.bytes.begin());
  } else {
    out = std::string(text);
  }
  return true;
}

template <class T>
bool read_vector(ValueView view, T& out, std::string& problem) {
  if (!view.is_array()) return false;
  out.clear();
  out.reserve(view.size());
  for (std::size_t i = 0; i < view.size(); ++i) {
    typename T::value_type item{};
    if (!read(view.item(i), item, problem)) return false;
    out.push_back(std::move(item));
  }
  return true;
}

template <class T>
bool read(ValueView view, T& out, std::string& problem) {
  if constexpr (std::is_same_v<T, bool>) {
    return view.read(out);
  } else if constexpr (std::is_enum_v<T>) {
    return read_enum(view, out);
  } else if constexpr (std::is_integral_v<T>) {
    return read_integer(view, out);
  } else if constexpr (IsId<T>::value) {
    return read_integer(view, out.value);
  } else if constexpr (IsTime<T>) {
    return read_integer(view, out.us);
  } else if constexpr (std::is_same_v<T, std::string> || IsBytes<T>::value) {
    return read_string(view, out);
  } else if constexpr (IsOptional<T>::value) {
    if (view.is_nil()) return true;
    return read(view, out.emplace(), problem);
  } else if constexpr (IsVector<T>::value) {
    return read_vector(view, out, problem);
  } else {
    return read_fields(view, out, problem);
  }
}

}  // namespace codec

// Appends to out.
template <class T>
void encode(const T& value, std::string& out) {
  Packer packer(out);
  codec::write(packer, value);
}

template <class T>
std::string encode(const T& value) {
  std::string out;
  encode(value, out);
  return out;
}

// kInvalid or kLimit with the path of the field at fault.
template <class T>
Result<T> decode(ValueView view) {
  T value{};
  std::string problem;
  if (!codec::read(view, value, problem)) {
    return fail(ErrorCode::kInvalid,
                "message: bad value in " + (problem.empty() ? std::string("body") : problem));
  }
  return value;
}

template <class T>
Result<T> decode(std::string_view bytes, const DecodeLimits& limits = {}) {
  auto decoded = Decoded::parse(bytes, limits);
  if (!decoded) return decoded.error();
  return decode<T>(decoded->root());
}

}  // namespace muster
