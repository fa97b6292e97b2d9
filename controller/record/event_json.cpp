// Records as JSON lines, for people.
#include "base/message/json.h"
#include "controller/record/event_codec.h"

namespace muster {

namespace {

struct Head {
  Seq seq;
  Epoch epoch;
  Instant at;
  WallTime wall;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "seq", self.seq);
    visit(2, "epoch", self.epoch);
    visit(3, "at", self.at);
    visit(4, "wall", self.wall);
  }
};

}  // namespace

std::string record_to_json(const Record& record) {
  std::string out = to_json(Head{record.seq, record.epoch, record.at, record.wall});
  out.pop_back();
  out += ",\"events\":[";
  bool first = true;
  for (const Event& event : record.events) {
    if (!first) out += ',';
    first = false;
    std::visit(
        [&](const auto& body) {
          const std::string fields = to_json(body);
          out += "{\"type\":\"" + std::string(body.kName) + "\"";
          if (fields.size() > 2) out += "," + fields.substr(1);
          if (fields.size() <= 2) out += '}';
        },
        event);
  }
  return out + "]}";
}

}  // namespace muster
