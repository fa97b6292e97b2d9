// The one file that knows msgpack-c's types.
#include "base/message/pack.h"

#include <msgpack.hpp>

namespace muster {

namespace {

struct StringBuffer {
  std::string& out;
  void write(const char* data, std::size_t size) { out.append(data, size); }
};

std::uint32_t checked_size(std::size_t size) {
  MUSTER_ASSERT(size <= UINT32_MAX);
  return static_cast<std::uint32_t>(size);
}

const msgpack::object& object_of(const void* object) {
  return *static_cast<const msgpack::object*>(object);
}

bool keep_reference(msgpack::type::object_type, std::size_t, void*) { return true; }

}  // namespace

void Packer::nil() { out_.push_back(static_cast<char>(0xc0)); }
void Packer::boolean(bool value) { out_.push_back(static_cast<char>(value ? 0xc3 : 0xc2)); }

void Packer::unsigned_integer(std::uint64_t value) {
  StringBuffer buffer{out_};
  msgpack::packer<StringBuffer>(buffer).pack_uint64(value);
}

void Packer::signed_integer(std::int64_t value) {
  StringBuffer buffer{out_};
  msgpack::packer<StringBuffer>(buffer).pack_int64(value);
}

void Packer::string(std::string_view value) {
  StringBuffer buffer{out_};
  msgpack::packer<StringBuffer> packer(buffer);
  packer.pack_str(checked_size(value.size()));
  packer.pack_str_body(value.data(), checked_size(value.size()));
}

void Packer::array(std::size_t size) {
  StringBuffer buffer{out_};
  msgpack::packer<StringBuffer>(buffer).pack_array(checked_size(size));
}

void Packer::map(std::size_t size) {
  StringBuffer buffer{out_};
  msgpack::packer<StringBuffer>(buffer).pack_map(checked_size(size));
}

void Packer::raw(std::string_view packed) { out_.append(packed); }

bool ValueView::is_nil() const { return object_of(object_).type == msgpack::type::NIL; }

bool ValueView::read(bool& out) const {
  if (object_of(object_).type != msgpack::type::BOOLEAN) return false;
  out = object_of(object_).via.boolean;
  return true;
}

bool ValueView::read(std::uint64_t& out) const {
  if (object_of(object_).type != msgpack::type::POSITIVE_INTEGER) return false;
  out = object_of(object_).via.u64;
  return true;
}

bool ValueView::read(std::int64_t& out) const {
  const auto& object = object_of(object_);
  if (object.type == msgpack::type::NEGATIVE_INTEGER) {
    out = object.via.i64;
    return true;
  }
  if (object.type != msgpack::type::POSITIVE_INTEGER || object.via.u64 > INT64_MAX) return false;
  out = static_cast<std::int64_t>(object.via.u64);
  return true;
}

bool ValueView::read(std::string_view& out) const {
  const auto& object = object_of(object_);
  if (object.type == msgpack::type::STR) {
    out = {object.via.str.ptr, object.via.str.size};
    return true;
  }
  if (object.type != msgpack::type::BIN) return false;
  out = {object.via.bin.ptr, object.via.bin.size};
  return true;
}

bool ValueView::is_array() const { return object_of(object_).type == msgpack::type::ARRAY; }
bool ValueView::is_map() const { return object_of(object_).type == msgpack::type::MAP; }

std::size_t ValueView::size() const {
  if (is_array()) return object_of(object_).via.array.size;
  if (is_map()) return object_of(object_).via.map.size;
  return 0;
}

ValueView ValueView::item(std::size_t i) const {
  MUSTER_ASSERT(is_array() && i < size());
  return ValueView(object_of(object_).via.array.ptr + i);
}

ValueView ValueView::key(std::size_t i) const {
  MUSTER_ASSERT(is_map() && i < size());
  return ValueView(&object_of(object_).via.map.ptr[i].key);
}

ValueView ValueView::value(std::size_t i) const {
  MUSTER_ASSERT(is_map() && i < size());
  return ValueView(&object_of(object_).via.map.ptr[i].val);
}

struct Decoded::Impl {
  msgpack::object_handle handle;
};

Decoded::Decoded() : impl_(std::make_unique<Impl>()) {}
Decoded::~Decoded() = default;
Decoded::Decoded(Decoded&&) noexcept = default;
Decoded& Decoded::operator=(Decoded&&) noexcept = default;

Result<Decoded> Decoded::parse(std::string_view bytes, const DecodeLimits& limits) {
  if (bytes.empty()) return fail(ErrorCode::kInvalid, "message: empty");
  if (bytes.size() > limits.bytes_max) return fail(ErrorCode::kLimit, "message: too long");
  const msgpack::unpack_limit limit(limits.array_max, limits.map_max, limits.string_max,
                                    limits.string_max, limits.string_max, limits.depth_max);
  try {
    Decoded decoded;
    std::size_t offset = 0;
    msgpack::unpack(decoded.impl_->handle, bytes.data(), bytes.size(), offset, &keep_reference,
                    nullptr, limit);
    if (offset != bytes.size()) return fail(ErrorCode::kInvalid, "message: bytes after its end");
    return decoded;
  } catch (const msgpack::insufficient_bytes&) {
    return fail(ErrorCode::kInvalid, "message: truncated");
  } catch (const msgpack::size_overflow& error) {
    return fail(ErrorCode::kLimit, std::string("message: ") + error.what());
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalid, std::string("message: ") + error.what());
  }
}

ValueView Decoded::root() const { return ValueView(&impl_->handle.get()); }

}  // namespace muster
