// The controller's one TOML file, read and validated as a whole. Nothing is applied when anything
// is wrong.
#pragma once

#include <string>
#include <vector>

#include "base/types/result.h"
#include "controller/core/config.h"

namespace muster {

struct GatewayKey {
  std::string name;
  std::string public_key;  // Z85.
  bool admin = false;      // Admin verbs may come through it.
};
struct NodeKey {
  std::string name;
  std::string public_key;
};

struct HostConfig {
  std::string path;
  std::string state_dir;
  std::string audit_file;  // Default: state_dir/audit.jsonl.
  struct Listen {
    std::string workers = "tcp://127.0.0.1:7601";
    std::string gateways = "tcp://127.0.0.1:7602";
    std::string bulk = "tcp://127.0.0.1:7603";
    std::string enrol = "tcp://127.0.0.1:7604";
    bool operator==(const Listen&) const = default;
  } listen;
  std::string database;  // libpq conninfo; empty: no accounting.
  struct Roles {
    std::vector<std::string> admins;
    std::vector<std::string> admin_groups;
    std::vector<std::string> operators;
    std::vector<std::string> operator_groups;
  } roles;
  std::vector<GatewayKey> gateways;
  std::vector<NodeKey> nodes;
  struct Log {
    std::string file;  // Empty: standard error.
    std::string level = "info";
  } log;
  // A site's program that every submit request is shown to.
  struct SubmitPolicy {
    std::string program;  // Empty: none.
    Duration timeout = seconds(5);
    std::string user = "nobody";    // Where the controller runs as root.
    bool allow_on_failure = false;  // Let jobs through as they are, or ask to try again.
  } submit_policy;
  std::uint32_t query_threads = 2;
  ClusterConfig cluster;  // version is set when it is applied.
};

// Every error names file, line, key, cause and remedy; several errors come as one text of several
// lines.
Result<HostConfig> load_config(const std::string& path);
// The same from text; path only names it in errors.
Result<HostConfig> parse_config(const std::string& text, const std::string& path);

}  // namespace muster
