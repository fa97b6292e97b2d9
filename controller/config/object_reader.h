// Queues, accounts, QOS and users as TOML tables, in the file or as gpuadmin changes them. What a
// table does not say stays as it is. Names are read by the caller.
#pragma once

#include <string>

#include "controller/config/toml_reader.h"
#include "controller/core/config.h"

namespace muster {

bool is_config_name(const std::string& text);

void read_queue(TomlTable& table, QueueConfig& queue);
void read_account(TomlTable& table, AccountConfig& account);
void read_qos(TomlTable& table, QosConfig& qos);
void read_user(TomlTable& table, UserConfig& user);

}  // namespace muster
