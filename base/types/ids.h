// Names of things. Every id is its own type, so that ids of different things cannot be mixed up.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/types/result.h"

namespace muster {

template <class Tag, class Rep>
struct Id {
  Rep value{};
  auto operator<=>(const Id&) const = default;
};

using JobId = Id<struct JobTag, std::uint64_t>;          // 1…; never reused within a cluster.
using Element = Id<struct ElementTag, std::uint32_t>;    // Member of an array; 0 for a plain job.
using AttemptNo = Id<struct AttemptTag, std::uint32_t>;  // 1 for the first run of an element.
using NodeId = Id<struct NodeTag, std::uint32_t>;        // Interned node name; never reused.
using DeviceId = Id<struct DeviceTag, std::uint32_t>;    // Interned device UUID; never reused.
using ShapeId = Id<struct ShapeTag, std::uint32_t>;      // Jobs that ask for the same thing.
using Epoch = Id<struct EpochTag, std::uint64_t>;        // Controller incarnation, for fencing.
using Seq = Id<struct SeqTag, std::uint64_t>;            // Number of a journal record, from 1.
using Uid = Id<struct UidTag, std::uint32_t>;
using Gid = Id<struct GidTag, std::uint32_t>;

// One element of one job. The element of a plain job is 0.
struct ElementKey {
  JobId job;
  Element element;
  auto operator<=>(const ElementKey&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
  }
};

// One run of one element: what every message, order, row and path is named after.
struct AttemptKey {
  JobId job;
  Element element;
  AttemptNo attempt;
  auto operator<=>(const AttemptKey&) const = default;
  ElementKey element_key() const { return {job, element}; }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "element", self.element);
    visit(3, "attempt", self.attempt);
  }
};

// "17", or "17_3" for element 3 of an array; the attempt follows after a dot: "17.1", "17_3.2".
std::string to_text(const ElementKey& key, bool is_array);
std::string to_text(const AttemptKey& key);  // Always "job.element.attempt": for paths and logs.
Result<AttemptKey> parse_attempt_key(std::string_view text);  // Inverse of to_text(AttemptKey).

template <std::size_t N>
struct Bytes {
  std::array<std::uint8_t, N> bytes{};
  auto operator<=>(const Bytes&) const = default;
};
using Hash256 = Bytes<32>;  // BLAKE2b-256 of a blob.
using Uuid = Bytes<16>;

std::string to_text(const Uuid& uuid);  // 8-4-4-4-12, lower case.
Result<Uuid> parse_uuid(std::string_view text);
std::string hex(const std::uint8_t* data, std::size_t size);

// What makes a retried request the same request.
struct RequestId {
  Uid uid;
  Uuid uuid;
  auto operator<=>(const RequestId&) const = default;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "uid", self.uid);
    visit(2, "uuid", self.uuid);
  }
};

// Where a content-addressed blob lies: pack file, offset, length. hash is of the content.
struct BlobRef {
  Hash256 hash;
  std::uint32_t pack = 0;  // 0: no blob.
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  auto operator<=>(const BlobRef&) const = default;
  bool exists() const { return pack != 0; }
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "hash", self.hash);
    visit(2, "pack", self.pack);
    visit(3, "offset", self.offset);
    visit(4, "size", self.size);
  }
};

}  // namespace muster

template <class Tag, class Rep>
struct std::hash<muster::Id<Tag, Rep>> {
  std::size_t operator()(const muster::Id<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
