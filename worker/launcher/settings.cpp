// The launcher's command line, by hand: the root half links no parser.
#include "worker/launcher/settings.h"

#include <charconv>
#include <limits>
#include <vector>

#include "base/types/text.h"

namespace muster {
namespace {

template <class T>
bool parse_number(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end && !text.empty();
}

bool parse_ports(const std::string& text, LauncherSettings& settings) {
  const std::size_t dash = text.find('-');
  return dash != std::string::npos && parse_number(text.substr(0, dash), settings.port_first) &&
         parse_number(text.substr(dash + 1), settings.port_last) && settings.port_first > 0 &&
         settings.port_first <= settings.port_last;
}

bool parse_option(const std::string& name, const std::string& value, LauncherSettings& settings) {
  struct TextOption {
    const char* name;
    std::string LauncherSettings::*field;
  };
  static const TextOption kTexts[] = {
      {"--state-dir", &LauncherSettings::state_dir},
      {"--run-dir", &LauncherSettings::run_dir},
      {"--socket", &LauncherSettings::socket_path},
      {"--keys", &LauncherSettings::keys_path},
      {"--node", &LauncherSettings::node},
      {"--shepherd", &LauncherSettings::shepherd_path},
      {"--nccl-interface", &LauncherSettings::nccl_interface},
      {"--gloo-interface", &LauncherSettings::gloo_interface},
      {"--log-file", &LauncherSettings::log_file},
      {"--cgroup", &LauncherSettings::cgroup},
  };
  for (const TextOption& option : kTexts) {
    if (name == option.name) {
      settings.*option.field = value;
      return !value.empty();
    }
  }
  if (name == "--worker-uid") return parse_number(value, settings.worker_uid);
  if (name == "--min-uid") return parse_number(value, settings.uid_min);
  return name == "--ports" && parse_ports(value, settings);
}

Error bad_option(const std::string& name) {
  const std::string usage = launcher_usage();
  std::vector<std::string_view> names;
  for (std::size_t at = usage.find(" --"); at != std::string::npos; at = usage.find(" --", at + 1))
    names.push_back(std::string_view(usage).substr(at + 1, usage.find(' ', at + 1) - at - 1));
  const std::string near(nearest_match(name, names));
  if (near == name) return fail(ErrorCode::kInvalid, "bad value of " + name + "; see --help");
  return fail(ErrorCode::kInvalid,
              "unknown option " + escape_for_terminal(name) +
                  (near.empty() ? "; see --help" : "; did you mean " + near + "?"));
}

}  // namespace

std::string launcher_usage() {
  return "usage: muster-launcher --state-dir DIR --socket PATH --keys FILE --node NAME\n"
         "  --state-dir DIR        attempts, epoch and spooled scripts\n"
         "  --run-dir DIR          on a tmpfs: what a reboot may take (default: --state-dir)\n"
         "  --socket PATH          Unix socket the worker connects to\n"
         "  --keys FILE            pinned cluster id and order keys\n"
         "  --node NAME            this node's name, as in the orders\n"
         "  --worker-uid UID       the only uid that may connect (default 0)\n"
         "  --ports FIRST-LAST     outside ip_local_port_range (default 20000-20999)\n"
         "  --min-uid UID          refuse jobs of users below (default 1000)\n"
         "  --allow-root-jobs      let uid 0 run jobs\n"
         "  --single-user          run without root: every job as the present user\n"
         "  --shepherd PATH        default: muster-shepherd beside this program\n"
         "  --nccl-interface NAME  sets NCCL_SOCKET_IFNAME==NAME unless the user did\n"
         "  --gloo-interface NAME  sets GLOO_SOCKET_IFNAME=NAME unless the user did\n"
         "  --log-file PATH        instead of standard error\n"
         "  --cgroup PATH          v2: make the jobs' groups below (default: where we are)\n"
         "SIGHUP opens the log file and reads the pinned keys again.\n";
}

Result<LauncherSettings> parse_launcher_settings(int argc, const char* const* argv) {
  LauncherSettings settings;
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (name == "--help") return fail(ErrorCode::kNotFound, launcher_usage());
    if (name == "--allow-root-jobs" || name == "--single-user") {
      (name == "--single-user" ? settings.single_user : settings.allow_root_jobs) = true;
      continue;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    if (!parse_option(name, value, settings)) return bad_option(name);
  }
  if (settings.state_dir.empty() || settings.socket_path.empty() || settings.keys_path.empty() ||
      settings.node.empty()) {
    return fail(ErrorCode::kInvalid, "needs --state-dir, --socket, --keys and --node (see --help)");
  }
  return settings;
}

}  // namespace muster
