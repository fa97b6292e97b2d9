// Queues, accounts, QOS, users, their limits, and licences, as administrators change them at run
// time.
#pragma once

#include <string>
#include <vector>

#include "base/types/fields.h"

namespace muster {

enum class ObjectKind : std::uint8_t { kQueue, kAccount, kQos, kUser, kLicence };
template <>
struct EnumNames<ObjectKind> {
  static constexpr std::array<std::string_view, 5> kNames{"queue", "account", "qos", "user",
                                                          "licence"};
};

enum class ObjectVerb : std::uint8_t { kAdd, kSet, kRemove };
template <>
struct EnumNames<ObjectVerb> {
  static constexpr std::array<std::string_view, 3> kNames{"add", "set", "remove"};
};

// As in the file: {"time_max", "12h"}, {"limits.gpus", "8"}; lists with commas.
struct ObjectSetting {
  std::string key;
  std::string value;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "key", self.key);
    visit(2, "value", self.value);
  }
};

// object-change
struct ObjectChangeBody {
  ObjectVerb verb = ObjectVerb::kSet;
  ObjectKind kind = ObjectKind::kQueue;
  std::string name;
  std::vector<ObjectSetting> settings;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "verb", self.verb);
    visit(2, "kind", self.kind);
    visit(3, "name", self.name);
    visit(4, "settings", self.settings);
  }
};

struct ObjectRow {
  ObjectKind kind = ObjectKind::kQueue;
  std::string name;
  bool is_default = false;
  bool at_run_time = false;             // Set by gpuadmin: a reload leaves it as it is.
  std::vector<ObjectSetting> settings;  // Those that are not the default; values as in TOML.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "kind", self.kind);
    visit(2, "name", self.name);
    visit(3, "is_default", self.is_default);
    visit(4, "at_run_time", self.at_run_time);
    visit(5, "settings", self.settings);
  }
};
// objects: no body.
struct ObjectsReply {
  std::vector<ObjectRow> rows;
  std::vector<std::string> removed;  // By gpuadmin; the file may name them still.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
    visit(2, "removed", self.removed);
  }
};

// reload
struct ReloadBody {
  bool force = false;  // The file alone: what gpuadmin set is undone.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "force", self.force);
  }
};

}  // namespace muster
