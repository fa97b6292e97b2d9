// Simulated GPUs. config is the path of a TOML file:
//
//   name = "n1"                # Part of every UUID; default: made from the file's path.
//   [[gpu]]
//   type = "h100"
//   memory_mib = 81920
//   count = 4                  # Default 1.
//   numa = 0
//   clique = 0
//   devices = ["/dev/fake0"]   # Character devices, one for each; default none.
//   uuid = "GPU-…"             # Only with count = 1.
//   broken = "reason"          # It is there but not usable.
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <toml++/toml.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/api/gpu.h"

namespace {

using Gpus = std::vector<MusterGpu>;

[[noreturn]] void refuse(const toml::node& where, const std::string& what) {
  throw std::runtime_error("line " + std::to_string(where.source().begin.line) + ": " + what);
}

template <std::size_t N>
void put(char (&field)[N], const std::string& text, const toml::node& where) {
  if (text.size() >= N) refuse(where, "text too long");
  std::memcpy(field, text.c_str(), text.size() + 1);
}

std::string text_of(const toml::node& node) {
  const auto text = node.value<std::string>();
  if (!node.is_string() || !text) refuse(node, "expected a text");
  return *text;
}

std::uint32_t count_of(const toml::node& node, std::int64_t max) {
  const auto number = node.value<std::int64_t>();
  if (!node.is_integer() || !number || *number < 0 || *number > max) {
    refuse(node, "expected a number from 0 to " + std::to_string(max));
  }
  return static_cast<std::uint32_t>(*number);
}

void put_type(MusterGpu& gpu, const toml::node& node) {
  const std::string type = text_of(node);
  const bool is_plain =
      type.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") == std::string::npos;
  if (type.empty() || !is_plain) refuse(node, "a type is lower case letters and digits");
  put(gpu.type, type, node);
}

void put_device(MusterGpu& gpu, const toml::node& node) {
  const std::string path = text_of(node);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) refuse(node, path + ": " + std::strerror(errno));
  if (!S_ISCHR(status.st_mode)) refuse(node, path + " is no character device");
  put(gpu.device_path, path, node);
  gpu.minor = minor(status.st_rdev);
}

// One [[gpu]] entry: count like it are appended.
class Entry {
 public:
  explicit Entry(const toml::table& table) : table_(table) {
    for (const auto& [key, node] : table) take(std::string(key.str()), node);
    if (model_.type[0] == '\0') refuse(table, "a gpu needs a type");
    if (model_.memory_mib == 0) refuse(table, "a gpu needs memory_mib");
    if (devices_ != nullptr && devices_->size() != count_)
      refuse(table, "devices must name one for each gpu");
    if (!uuid_.empty() && count_ != 1) refuse(table, "a uuid is for one gpu only");
  }

  void append(Gpus& gpus, const std::string& name) const {
    if (gpus.size() + count_ > MUSTER_GPU_MAX) refuse(table_, "too many gpus");
    for (std::uint32_t i = 0; i < count_; ++i) {
      MusterGpu gpu = model_;
      gpu.index = gpu.minor = static_cast<std::uint32_t>(gpus.size());
      const std::string uuid =
          uuid_.empty() ? "GPU-fake-" + name + "-" + std::to_string(gpu.index) : uuid_;
      put(gpu.uuid, uuid, table_);
      put(gpu.name, std::string("Simulated ") + gpu.type, table_);
      if (devices_ != nullptr) put_device(gpu, *devices_->get(i));
      gpus.push_back(gpu);
    }
  }

 private:
  void take(const std::string& key, const toml::node& node) {
    if (key == "type") {
      put_type(model_, node);
    } else if (key == "memory_mib") {
      model_.memory_mib = count_of(node, 1 << 30);
    } else if (key == "count") {
      count_ = count_of(node, MUSTER_GPU_MAX);
    } else if (key == "numa") {
      model_.numa_node = count_of(node, 1023);
    } else if (key == "clique") {
      model_.clique = count_of(node, 65535);
    } else if (key == "uuid") {
      uuid_ = text_of(node);
    } else if (key == "broken") {
      model_.health = MUSTER_GPU_BROKEN;
      put(model_.health_reason, text_of(node), node);
    } else if (key == "devices") {
      devices_ = node.as_array();
      if (devices_ == nullptr) refuse(node, "expected a list of paths");
    } else {
      refuse(node, "unknown key \"" + key + "\" of a gpu");
    }
  }

  const toml::table& table_;
  MusterGpu model_{};
  std::uint32_t count_ = 1;
  std::string uuid_;
  const toml::array* devices_ = nullptr;
};

// The same for the same file on every start; different for two files of one machine.
std::string name_from_path(std::string_view path) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const char c : path) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

Gpus parse(const std::string& path) {
  const toml::table file = toml::parse_file(path);
  std::string name = name_from_path(path);
  Gpus gpus;
  for (const auto& [key, node] : file) {
    if (key.str() == "name") {
      name = text_of(node);
    } else if (key.str() != "gpu") {
      refuse(node, "unknown key \"" + std::string(key.str()) + "\"");
    }
  }
  const toml::node* list = file.get("gpu");
  if (list == nullptr) return gpus;
  if (!list->is_array_of_tables()) refuse(*list, "expected [[gpu]]");
  for (const toml::node& node : *list->as_array()) Entry(*node.as_table()).append(gpus, name);
  std::set<std::string> uuids;
  for (const MusterGpu& gpu : gpus) {
    if (!uuids.insert(gpu.uuid).second) refuse(*list, std::string("uuid given twice: ") + gpu.uuid);
  }
  return gpus;
}

int report(char* error, std::uint32_t error_size, const std::string& text) {
  if (error_size > 0) std::snprintf(error, error_size, "%s", text.c_str());
  return 1;
}

int fake_open(const char* config, void** state, char* error, std::uint32_t error_size) {
  try {
    *state = new Gpus(parse(config));
    return 0;
  } catch (const toml::parse_error& problem) {
    const std::string line = std::to_string(problem.source().begin.line);
    return report(
        error, error_size,
        std::string(config) + ": line " + line + ": " + std::string(problem.description()));
  } catch (const std::exception& problem) {
    return report(error, error_size, std::string(config) + ": " + problem.what());
  }
}

int fake_list(void* state, MusterGpu* gpus, std::uint32_t room, std::uint32_t* count, char* error,
              std::uint32_t error_size) {
  const Gpus& all = *static_cast<const Gpus*>(state);
  if (all.size() > room) return report(error, error_size, "more gpus than the host has room for");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint32_t size = gpus[i].struct_size;
    if (size < sizeof(MusterGpu))
      return report(error, error_size, "the host is older than this plugin");
    gpus[i] = all[i];
    gpus[i].struct_size = size;
  }
  *count = static_cast<std::uint32_t>(all.size());
  return 0;
}

void fake_close(void* state) { delete static_cast<Gpus*>(state); }

constexpr MusterGpuPlugin kPlugin{
    MUSTER_GPU_ABI, sizeof(MusterGpuPlugin), "fake", fake_open, fake_list, fake_close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const MusterGpuPlugin* muster_gpu_plugin(
    std::uint32_t host_abi_version) {
  return host_abi_version == MUSTER_GPU_ABI ? &kPlugin : nullptr;
}
