// Journal records as bytes: {1: seq, 2: epoch, 3: at, 4: wall, 5: [[type, fields], …]}. A record's
// bytes are the payload of one journal entry (base/journal).
#pragma once

#include <string>
#include <string_view>

#include "base/types/result.h"
#include "controller/core/event.h"

namespace muster {

constexpr std::size_t kEventsPerRecordMax = 100000;

std::string encode_record(const Record& record);

// kCorrupt for bytes that are no record; kInvalid, naming the number, for an event of a newer
// release.
Result<Record> decode_record(std::string_view bytes);

// One JSON object a record, no line end:
// {"seq":…,"epoch":…,"at_us":…,"wall":"…","events":[{"type":"JobHeld",…}]}.
std::string record_to_json(const Record& record);

}  // namespace muster
