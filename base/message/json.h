// JSON text from any type with `fields`, for --json and for journals shown to people.
//
// Keys are the field names. Enumerations are their names, ids numbers, hashes hexadecimal, UUIDs
// 8-4-4-4-12. A WallTime is RFC 3339 in UTC, null when 0 ("never"); a Duration is seconds, with a
// fraction only when it has one; an Instant is microseconds of engine time. Absent optionals are
// null. Text is UTF-8: what could steer a terminal is escaped as \uXXXX, bytes that are not UTF-8
// become \ufffd.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/message/codec.h"
#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

// Builds one JSON text in out. Calls must nest as JSON does; commas are put by themselves.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}
  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void key(std::string_view name);  // Then exactly one value.
  void string(std::string_view text);
  void number(std::int64_t value);
  void number(std::uint64_t value);
  void boolean(bool value);
  void null();
  void time(WallTime at);
  void duration(Duration value);
  void raw(std::string_view json);  // Already JSON.

 private:
  void separate();

  std::string& out_;
  bool needs_comma_ = false;
};

namespace json {

template <class T>
void write(JsonWriter& writer, const T& value);

struct FieldWriter {
  JsonWriter& writer;
  template <class F>
  void operator()(int, std::string_view name, const F& value) {
    writer.key(name);
    write(writer, value);
  }
};

template <class T>
void write_plain(JsonWriter& writer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    writer.boolean(value);
  } else if constexpr (std::is_enum_v<T>) {
    writer.string(name_of(value));
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    writer.number(std::int64_t{value});
  } else if constexpr (std::is_integral_v<T>) {
    writer.number(std::uint64_t{value});
  } else if constexpr (codec::IsId<T>::value) {
    writer.number(std::uint64_t{value.value});
  } else if constexpr (std::is_same_v<T, WallTime>) {
    writer.time(value);
  } else if constexpr (std::is_same_v<T, Duration>) {
    writer.duration(value);
  } else if constexpr (std::is_same_v<T, Instant>) {
    writer.number(value.us);
  } else if constexpr (std::is_same_v<T, Uuid>) {
    writer.string(to_text(value));
  } else if constexpr (codec::IsBytes<T>::value) {
    writer.string(hex(value.bytes.data(), value.bytes.size()));
  } else {
    static_assert(std::is_convertible_v<const T&, std::string_view>,
                  "a type that is shown lists its fields");
    writer.string(value);
  }
}

template <class T>
void write(JsonWriter& writer, const T& value) {
  if constexpr (codec::IsOptional<T>::value) {
    if (value.has_value()) {
      write(writer, *value);
    } else {
      writer.null();
    }
  } else if constexpr (codec::IsVector<T>::value) {
    writer.begin_array();
    for (const auto& item : value) write<typename T::value_type>(writer, item);
    writer.end_array();
  } else if constexpr (HasFields<T>) {
    writer.begin_object();
    FieldWriter fields{writer};
    T::fields(value, fields);
    writer.end_object();
  } else {
    write_plain(writer, value);
  }
}

}  // namespace json

// Appends to out.
template <class T>
void to_json(const T& value, std::string& out) {
  JsonWriter writer(out);
  json::write(writer, value);
}

template <class T>
std::string to_json(const T& value) {
  std::string out;
  to_json(value, out);
  return out;
}

}  // namespace muster
