// muster-worker: the unprivileged network half of a compute node.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "base/daemon/log.h"
#include "base/types/size.h"
#include "worker/host/enrol.h"
#include "worker/host/machine.h"
#include "worker/host/plugin_host.h"
#include "worker/host/worker_config.h"
#include "worker/host/worker_daemon.h"

namespace muster {
namespace {

// What the command line says; it wins over the file.
struct Flags {
  std::string config_file;
  WorkerConfig config;
  std::string memory;
};

void add_run_options(CLI::App& app, Flags& flags) {
  WorkerConfig& config = flags.config;
  app.add_option("--config", flags.config_file, "TOML file; options given here win over it");
  app.add_option("--node", config.node, "name of this node, as the controller knows it");
  app.add_option("--controller", config.controller, "its worker port, tcp://host:port");
  app.add_option("--bulk", config.bulk,
                 "its bulk port, tcp://host:port; without it logs are not served");
  app.add_option("--server-key", config.server_key,
                 "the controller's public key (Z85), or a file with it");
  app.add_option("--key-file", config.key_file, "this node's key pair");
  app.add_option("--launcher", config.launcher, "socket of this node's muster-launcher");
  app.add_option("--state-dir", config.state_dir, "folder of this worker's few files");
  app.add_option("--gpu-plugin", config.gpu_plugin, "fake, nvml, none, or the path of a plugin");
  app.add_option("--gpu-config", config.gpu_config, "handed to the plugin");
  app.add_option("--cpus", config.cpus, "hardware threads for jobs, instead of the machine's");
  app.add_option("--memory", flags.memory,
                 "memory for jobs, such as 16G, instead of the machine's");
  app.add_option("--feature", config.features, "a word jobs may ask for; may be repeated");
  app.add_option("--interface", config.interface, "network interface where ranks meet");
  app.add_option("--address", config.address,
                 "address where ranks meet, instead of an interface's");
  app.add_option("--switch", config.switch_name, "name of the switch that this node hangs on");
  app.add_option("--log-file", config.log_file, "instead of stderr; reopened on SIGHUP");
  app.add_option("--log-level", config.log_level, "debug, info, warn or error");
}

// The file first, then the command line again over it.
Result<WorkerConfig> configure(int argc, char** argv, const Flags& first) {
  Flags flags;
  if (!first.config_file.empty()) {
    const Result<void> read = read_worker_config(first.config_file, flags.config);
    if (!read) return read.error();
  }
  CLI::App again;
  again.allow_extras();
  add_run_options(again, flags);
  try {
    again.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return fail(ErrorCode::kInvalid, problem.what());
  }
  if (!flags.memory.empty()) {
    const Result<std::uint64_t> memory = parse_memory_mib(flags.memory);
    if (!memory) return fail(ErrorCode::kInvalid, "--memory: " + memory.error().message);
    flags.config.memory_mib = *memory;
  }
  const Result<void> checked = check_worker_config(flags.config);
  if (!checked) return checked.error();
  return flags.config;
}

int exit_code_of(ErrorCode code) {
  return code == ErrorCode::kUnavailable ? kExitUnavailable : kExitConfig;
}

int run(int argc, char** argv, const Flags& flags) {
  const Result<WorkerConfig> config = configure(argc, argv, flags);
  if (!config) fatal(kExitConfig, config.error().message);
  const Result<LogLevel> level = parse_log_level(config->log_level);
  if (!level) fatal(kExitConfig, level.error().message);
  const Result<void> begun = begin_process({"muster-worker"});
  if (!begun) fatal(kExitOs, begun.error().message);
  const Result<void> logging = open_log({config->log_file, *level});
  if (!logging) fatal(kExitConfig, logging.error().message);
  SignalSource signals;
  const Result<void> made = make_state_dir(config->state_dir);
  if (!made) fatal(kExitUnavailable, made.error().message);
  const Result<PidFile> pid = PidFile::take(config->state_dir + "/pid");
  if (!pid) fatal(kExitTempFail, pid.error().message);
  const auto daemon = WorkerDaemon::start(*config, MUSTER_VERSION);
  if (!daemon) fatal(exit_code_of(daemon.error().code), daemon.error().message);
  (*daemon)->run(signals);
  return 0;
}

// From standard input, not from the command line: every user of the machine can read that.
std::string read_token() {
  if (isatty(STDIN_FILENO) == 1)
    std::fprintf(stderr, "token (as printed by 'gpuadmin node add'): ");
  std::string token;
  std::getline(std::cin, token);
  return token;
}

int run_enrol(EnrolOptions options) {
  options.token = read_token();
  const Result<void> enrolled = enrol(options);
  if (!enrolled) {
    std::fprintf(stderr, "muster-worker: %s\n", enrolled.error().message.c_str());
    return exit_code_of(enrolled.error().code);
  }
  std::printf("node %s is enrolled; key: %s; keys the launcher trusts: %s\n", options.node.c_str(),
              options.key_file.c_str(), options.order_keys.c_str());
  return 0;
}

void add_enrol_options(CLI::App& app, EnrolOptions& options) {
  app.add_option("--controller", options.endpoint, "the controller's enrol port, tcp://host:port")
      ->required();
  app.add_option("--server-key", options.server_key,
                 "the controller's public key (Z85), or a file with it")
      ->required();
  app.add_option("--node", options.node, "name of this node")->required();
  app.add_option("--key-file", options.key_file, "this node's key pair; made when there is none")
      ->required();
  app.add_option("--order-keys", options.order_keys,
                 "written for muster-launcher: whose orders it obeys")
      ->required();
  app.footer("The one-time token is read from standard input: paste it when asked.");
}

int main_of(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "plugin-call") {
    return serve_plugin_call(argv[2], argv[3], STDOUT_FILENO);
  }
  CLI::App app(
      "Runs a compute node of a Muster cluster: tells the controller what the node has and holds, "
      "and passes "
      "its orders to muster-launcher.",
      "muster-worker");
  app.set_version_flag("--version", MUSTER_VERSION);
  Flags flags;
  add_run_options(app, flags);
  EnrolOptions enrolment;
  CLI::App* enrol_command =
      app.add_subcommand("enrol", "trade a one-time token for a place in the cluster");
  add_enrol_options(*enrol_command, enrolment);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return end_command_line(app, problem);
  }
  return enrol_command->parsed() ? run_enrol(enrolment) : run(argc, argv, flags);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) { return muster::main_of(argc, argv); }
