// MessagePack without its headers: a writer into a string, and a read-only view over decoded bytes.
// Only pack.cpp sees msgpack-c.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

// Limits of one decode; everything larger is refused before memory is taken for it.
struct DecodeLimits {
  std::size_t bytes_max = 64U << 20U;
  std::uint32_t array_max = 100000;
  std::uint32_t map_max = 1024;
  std::uint32_t string_max = 32U << 20U;
  std::uint32_t depth_max = 32;
};

// Appends values to out. Sizes given are trusted: they come from our own code.
class Packer {
 public:
  explicit Packer(std::string& out) : out_(out) {}
  void nil();
  void boolean(bool value);
  void unsigned_integer(std::uint64_t value);
  void signed_integer(std::int64_t value);
  void string(std::string_view value);
  void array(std::size_t size);
  void map(std::size_t size);
  void raw(std::string_view packed);  // Already packed bytes.

 private:
  std::string& out_;
};

// One value inside a Decoded. Valid while the Decoded lives. Reading the wrong type answers false.
class ValueView {
 public:
  ValueView() = default;
  explicit ValueView(const void* object) : object_(object) {}
  bool is_nil() const;
  bool read(bool& out) const;
  bool read(std::uint64_t& out) const;
  bool read(std::int64_t& out) const;  // Takes unsigned values that fit.
  bool read(std::string_view& out) const;
  bool is_array() const;
  bool is_map() const;
  std::size_t size() const;              // Of an array or a map; 0 otherwise.
  ValueView item(std::size_t i) const;   // Of an array; i < size().
  ValueView key(std::size_t i) const;    // Of a map.
  ValueView value(std::size_t i) const;  // Of a map.

 private:
  const void* object_ = nullptr;
};

// Owns decoded bytes (strings point into the input, which must outlive it).
class Decoded {
 public:
  Decoded();
  ~Decoded();
  Decoded(Decoded&&) noexcept;
  Decoded& operator=(Decoded&&) noexcept;
  // kInvalid with the reason: truncated, trailing bytes, too deep, too large. Never throws.
  static Result<Decoded> parse(std::string_view bytes, const DecodeLimits& limits = {});
  ValueView root() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
