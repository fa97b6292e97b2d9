// What scheduling goes by beside queues and accounts, as TOML tables. What a table does not say
// stays as it is.
#pragma once

#include <vector>

#include "base/types/result.h"
#include "controller/config/toml_reader.h"
#include "controller/core/config.h"

namespace muster {

void read_priority(TomlTable& table, PriorityConfig& priority);
void read_limits(TomlTable& table, LimitsConfig& limits);
// Names are read by the caller.
void read_gpu_weight(TomlTable& table, GpuWeight& weight);
void read_licence(TomlTable& table, LicenceConfig& licence);
void read_switch(TomlTable& table, SwitchConfig& each);
// Every switch below one other at most, every node on one, and no circle.
Result<void> check_switches(const std::vector<SwitchConfig>& switches);

}  // namespace muster
