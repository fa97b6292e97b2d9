// KEY=VALUE as people type it, read over what there is by the readers of the file. For gpuadmin's
// objects and for gpusim.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/types/result.h"
#include "controller/config/toml_reader.h"
#include "controller/core/config.h"

namespace muster {

constexpr std::size_t kSettingsMax = 64;
constexpr std::size_t kSettingBytesMax = 65536;

struct Setting {
  std::string key;    // Within its table: "limits.gpus".
  std::string value;  // Without quotes: "12h", "a,b".
};

// In quotes, as a TOML string.
std::string quoted_text(std::string_view text);
std::string list_text(const std::vector<std::string>& names);

// Gives `read` a table with these settings. kInvalid names the key.
Result<void> read_settings(const std::vector<Setting>& settings,
                           const std::function<void(TomlTable&)>& read);

// "queue.day.order=shortest", "limits.jobs_max=1000", "licence.matlab.total=9": into a
// configuration, which is not checked as a whole. kInvalid and kNotFound name the key.
Result<void> set_key(ClusterConfig& config, const std::string& text);
// The kinds of keys that it takes, for people.
std::string settable_keys();

}  // namespace muster
