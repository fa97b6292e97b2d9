// Reads the rest.
#include "controller/config/cluster_reader.h"

#include <map>
#include <set>
#include <string>

#include "base/types/hostlist.h"
#include "base/types/job_spec.h"

namespace muster {
namespace {

void read_hosts(TomlTable& table, const char* key, std::vector<std::string>& out) {
  std::vector<std::string> lists = out;
  table.read(key, lists);
  out.clear();
  for (const std::string& list : lists) {
    const auto names = parse_hostlist(list);
    if (!names) {
      table.complain(key, names.error().message);
      continue;
    }
    out.insert(out.end(), names->begin(), names->end());
  }
}

Error wrong(const std::string& why) { return fail(ErrorCode::kInvalid, why); }

}  // namespace

void read_priority(TomlTable& table, PriorityConfig& priority) {
  table.read("fair_share", priority.fair_share, 0, 1000000);
  table.read("age", priority.age, 0, 1000000);
  table.read("size", priority.size, 0, 1000000);
  table.read("age_max", priority.age_max);
  table.read("half_life", priority.half_life);
  table.read("cpu_milli", priority.cpu_milli, 0, 1000);
  table.finish();
  if (priority.half_life < hours(1)) table.complain("half_life", "must be at least 1h");
  if (priority.age_max < hours(1)) table.complain("age_max", "must be at least 1h");
}

void read_limits(TomlTable& table, LimitsConfig& limits) {
  table.read("jobs_per_user_max", limits.jobs_per_user_max, 1, 10000000);
  table.read("jobs_max", limits.jobs_max, 1, 10000000);
  table.read("array_elements_max", limits.array_elements_max, 1, kArrayElementsMax);
  table.read("min_uid", limits.min_uid.value, 0, 4000000000U);
  table.read("suspect_after", limits.suspect_after);
  table.read("prepare_timeout", limits.prepare_timeout);
  table.read("forget_after", limits.forget_after);
  table.finish();
}

void read_gpu_weight(TomlTable& table, GpuWeight& weight) {
  table.read("milli", weight.milli, 0, 1000000);
  table.finish();
}

void read_licence(TomlTable& table, LicenceConfig& licence) {
  table.read("total", licence.total, 0, 1000000000);
  table.finish();
}

void read_switch(TomlTable& table, SwitchConfig& each) {
  read_hosts(table, "nodes", each.nodes);
  read_hosts(table, "switches", each.switches);
  table.read("block", each.block);
  if (each.nodes.empty() == each.switches.empty())
    table.complain("name", "switch '" + each.name + "' needs nodes, or switches, and not both");
  table.finish();
}

Result<void> check_switches(const std::vector<SwitchConfig>& switches) {
  std::map<std::string, std::string> above;
  std::map<std::string, std::string> switch_of;
  std::set<std::string> names;
  for (const SwitchConfig& each : switches) names.insert(each.name);
  for (const SwitchConfig& each : switches) {
    for (const std::string& name : each.switches) {
      if (!names.contains(name))
        return wrong("switch '" + each.name + "' names no such switch: '" + name + "'");
      if (!above.emplace(name, each.name).second)
        return wrong("switch '" + name + "' is below two others");
    }
    for (const std::string& name : each.nodes) {
      if (!switch_of.emplace(name, each.name).second)
        return wrong("node '" + name + "' is on two switches");
    }
  }
  for (const SwitchConfig& each : switches) {
    std::string top = each.name;
    for (std::size_t i = 0; i <= switches.size() && above.contains(top); ++i) {
      top = above[top];
      if (top == each.name) return wrong("switch '" + each.name + "' is above itself");
    }
  }
  return {};
}

}  // namespace muster
