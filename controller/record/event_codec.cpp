// Events to bytes and back, by their type number.
#include "controller/record/event_codec.h"

#include <utility>

#include "base/message/codec.h"

namespace muster {

namespace {

enum Key : std::uint64_t { kSeq = 1, kEpoch = 2, kAt = 3, kWall = 4, kEvents = 5 };

const DecodeLimits kJournalLimits{64U << 20U, 1000000, 1024, 32U << 20U, 32};

// Tries the alternatives of Event one after the other until one has this number.
template <std::size_t I = 0>
Result<Event> decode_event(std::uint64_t type, ValueView body) {
  if constexpr (I == std::variant_size_v<Event>) {
    return fail(ErrorCode::kInvalid,
                "journal: event type " + std::to_string(type) +
                    " is unknown to this release; start the release that wrote it, or a newer one");
  } else {
    using E = std::variant_alternative_t<I, Event>;
    if (type != static_cast<std::uint64_t>(E::kType)) return decode_event<I + 1>(type, body);
    auto event = decode<E>(body);
    if (!event)
      return fail(ErrorCode::kCorrupt,
                  "journal: " + std::string(E::kName) + ": " + event.error().message);
    return Event(std::move(*event));
  }
}

bool read_head(std::uint64_t key, ValueView value, Record& record) {
  switch (key) {
    case kSeq:
      return value.read(record.seq.value);
    case kEpoch:
      return value.read(record.epoch.value);
    case kAt:
      return value.read(record.at.us);
    case kWall:
      return value.read(record.wall.us);
    default:
      return true;
  }
}

Result<void> read_events(ValueView list, Record& record) {
  if (!list.is_array() || list.size() > kEventsPerRecordMax)
    return fail(ErrorCode::kCorrupt, "journal: bad list of events");
  record.events.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const ValueView item = list.item(i);
    std::uint64_t type = 0;
    if (!item.is_array() || item.size() != 2 || !item.item(0).read(type)) {
      return fail(ErrorCode::kCorrupt, "journal: bad event");
    }
    auto event = decode_event(type, item.item(1));
    if (!event) return event.error();
    record.events.push_back(std::move(*event));
  }
  return {};
}

}  // namespace

std::string encode_record(const Record& record) {
  std::string out;
  Packer packer(out);
  packer.map(5);
  packer.unsigned_integer(kSeq);
  packer.unsigned_integer(record.seq.value);
  packer.unsigned_integer(kEpoch);
  packer.unsigned_integer(record.epoch.value);
  packer.unsigned_integer(kAt);
  packer.signed_integer(record.at.us);
  packer.unsigned_integer(kWall);
  packer.signed_integer(record.wall.us);
  packer.unsigned_integer(kEvents);
  packer.array(record.events.size());
  for (const Event& event : record.events) {
    std::visit(
        [&](const auto& body) {
          packer.array(2);
          packer.unsigned_integer(static_cast<std::uint64_t>(body.kType));
          encode(body, out);
        },
        event);
  }
  return out;
}

Result<Record> decode_record(std::string_view bytes) {
  const auto decoded = Decoded::parse(bytes, kJournalLimits);
  if (!decoded) return fail(ErrorCode::kCorrupt, "journal: " + decoded.error().message);
  const ValueView root = decoded->root();
  Record record;
  if (!root.is_map()) return fail(ErrorCode::kCorrupt, "journal: not a record");
  for (std::size_t i = 0; i < root.size(); ++i) {
    std::uint64_t key = 0;
    if (!root.key(i).read(key)) return fail(ErrorCode::kCorrupt, "journal: not a record");
    if (key == kEvents) {
      if (const auto read = read_events(root.value(i), record); !read) return read.error();
    } else if (!read_head(key, root.value(i), record)) {
      return fail(ErrorCode::kCorrupt, "journal: bad head of a record");
    }
  }
  if (record.seq.value == 0) return fail(ErrorCode::kCorrupt, "journal: a record without a number");
  return record;
}

}  // namespace muster
