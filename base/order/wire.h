// Fixed little-endian encoding. One description of a type's fields serves both directions:
//
//   template <class Wire> void describe(Wire& wire, Example& e) { wire.number(e.cpus);
//   wire.text(e.name, kNameBytesMax); } Result<std::string> bytes = encode_with(example, "example",
//   [](auto& wire, auto& e) { describe(wire, e); });
//
// A value over its limit fails in both directions. Decoding takes no memory before the limit was
// checked, and what decodes is exactly what encodes to the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/result.h"

namespace muster::wire {

class Writer {
 public:
  static constexpr bool kReads = false;
  template <class T>
  void number(T value) {
    using Unsigned = std::make_unsigned_t<T>;
    auto rest = static_cast<std::uint64_t>(static_cast<Unsigned>(value));
    for (std::size_t i = 0; i < sizeof(T); ++i, rest >>= 8U)
      bytes_.push_back(static_cast<char>(rest & 0xffU));
  }
  void flag(bool value) { bytes_.push_back(value ? '\1' : '\0'); }
  template <NamedEnum E>
  void choice(E value) {
    require(static_cast<std::size_t>(value) < EnumNames<E>::kNames.size());
    number(static_cast<std::uint8_t>(value));
  }
  template <class Tag, class Rep>
  void id(const Id<Tag, Rep>& value) {
    number(value.value);
  }
  template <std::size_t N>
  void raw(const Bytes<N>& value) {
    for (const std::uint8_t byte : value.bytes) bytes_.push_back(static_cast<char>(byte));
  }
  // Text holds no NUL; blob holds anything.
  void text(const std::string& value, std::size_t max) {
    require(value.find('\0') == std::string::npos);
    blob(value, max);
  }
  void blob(const std::string& value, std::size_t max) {
    require(value.size() <= max);
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  template <class T, class Each>
  void list(std::vector<T>& values, std::size_t max, Each each) {
    require(values.size() <= max);
    number(static_cast<std::uint32_t>(values.size()));
    for (T& value : values) each(value);
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  bool ok_ = true;
};

class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  template <class T>
  void number(T& value) {
    if (!has(sizeof(T))) return;
    std::uint64_t sum = 0;
    for (std::size_t i = sizeof(T); i > 0; --i)
      sum = sum << 8U | static_cast<unsigned char>(rest_[i - 1]);
    value = static_cast<T>(static_cast<std::make_unsigned_t<T>>(sum));
    rest_.remove_prefix(sizeof(T));
  }
  void flag(bool& value) {
    std::uint8_t byte = 0;
    number(byte);
    require(byte <= 1);
    value = byte == 1;
  }
  template <NamedEnum E>
  void choice(E& value) {
    std::uint8_t byte = 0;
    number(byte);
    require(byte < EnumNames<E>::kNames.size());
    if (ok_) value = static_cast<E>(byte);
  }
  template <class Tag, class Rep>
  void id(Id<Tag, Rep>& value) {
    number(value.value);
  }
  template <std::size_t N>
  void raw(Bytes<N>& value) {
    for (std::uint8_t& byte : value.bytes) number(byte);
  }
  void text(std::string& value, std::size_t max) {
    blob(value, max);
    require(value.find('\0') == std::string::npos);
  }
  void blob(std::string& value, std::size_t max) {
    std::uint32_t size = 0;
    number(size);
    require(size <= max);
    if (!has(size)) return;
    value.assign(rest_.data(), size);
    rest_.remove_prefix(size);
  }
  // Every element takes at least one byte, so a count above the bytes left is a lie.
  template <class T, class Each>
  void list(std::vector<T>& values, std::size_t max, Each each) {
    std::uint32_t count = 0;
    number(count);
    require(count <= max && count <= rest_.size());
    values.clear();
    for (std::uint32_t i = 0; ok_ && i < count; ++i) each(values.emplace_back());
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  bool ok() const { return ok_; }
  bool is_done() const { return ok_ && rest_.empty(); }

 private:
  bool has(std::size_t size) {
    require(rest_.size() >= size);
    return ok_;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// kLimit when a field is over its limit.
template <class T, class Describe>
Result<std::string> encode_with(const T& value, std::string_view what, Describe describe) {
  Writer writer;
  T copy = value;
  describe(writer, copy);
  if (!writer.ok())
    return fail(ErrorCode::kLimit, std::string(what) + ": a field is over its limit");
  return writer.take();
}

// kCorrupt unless bytes are exactly one T within its limits.
template <class T, class Describe>
Result<T> decode_with(std::string_view bytes, std::string_view what, Describe describe) {
  Reader reader(bytes);
  T value;
  describe(reader, value);
  if (!reader.is_done()) return fail(ErrorCode::kCorrupt, std::string(what) + ": malformed");
  return value;
}

template <class Wire>
void describe(Wire& wire, AttemptKey& key) {
  wire.id(key.job);
  wire.id(key.element);
  wire.id(key.attempt);
}

}  // namespace muster::wire
