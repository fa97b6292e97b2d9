// muster-controller: owns the queue. Also the offline verbs that need its code: --check-config,
// --make-key,
// --journal-cat, --journal-verify, --state-dump, --audit-verify, --migrate.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "base/daemon/log.h"
#include "base/link/keys.h"
#include "controller/host/audit.h"
#include "controller/host/config_file.h"
#include "controller/host/controller.h"
#include "controller/host/journal_cat.h"
#include "controller/sql/migrate.h"

namespace {

using muster::fatal;

struct Options {
  std::string config;
  std::string check_config;
  std::string make_key;
  std::string journal_cat;
  std::string journal_verify;
  std::vector<std::string> state_dump;
  std::optional<std::uint64_t> until;
  std::string audit_verify;
  bool migrate = false;
};

int exit_code_of(muster::ErrorCode code) {
  switch (code) {
    case muster::ErrorCode::kCorrupt:
      return muster::kExitData;
    case muster::ErrorCode::kConflict:
      return muster::kExitTempFail;
    case muster::ErrorCode::kUnavailable:
      return muster::kExitUnavailable;
    default:
      return muster::kExitConfig;
  }
}

int say(const muster::Error& error) {
  std::fprintf(stderr, "muster-controller: %s\n", error.message.c_str());
  return exit_code_of(error.code);
}

int check_config(const std::string& path) {
  const auto config = muster::load_config(path);
  if (!config) return say(config.error());
  std::printf("%s: fine: %zu queues, %zu accounts, %zu gateways, %zu nodes\n", path.c_str(),
              config->cluster.queues.size(), config->cluster.accounts.size(),
              config->gateways.size(), config->nodes.size());
  return 0;
}

int make_key(const std::string& path) {
  const auto key = muster::load_or_make_key(path);
  if (!key) return say(key.error());
  std::printf("%s\n", key->public_key.c_str());
  return 0;
}

int verify_audit_file(const std::string& path) {
  const auto lines = muster::verify_audit(path);
  if (!lines) return say(lines.error());
  std::printf("%s: %llu lines, unchanged\n", path.c_str(), static_cast<unsigned long long>(*lines));
  return 0;
}

int migrate_database(const std::string& path) {
  const auto config = muster::load_config(path);
  if (!config) return say(config.error());
  if (config->database.empty()) {
    return say(muster::fail(muster::ErrorCode::kInvalid,
                            path + ": has no [database] conninfo; there is nothing to migrate"));
  }
  const auto migrated = muster::migrate(config->database);
  if (!migrated) return say(migrated.error());
  for (const std::string& name : migrated->applied) std::printf("applied %s\n", name.c_str());
  std::printf("the schema stands at version %d\n", migrated->version);
  return 0;
}

// Runs until a stop signal. The watchdog hears from the same loop that hears signals.
void serve(muster::Controller& controller, muster::SignalSource& signals) {
  const auto watchdog = muster::watchdog_interval();
  const int timeout_ms = watchdog.has_value() ? static_cast<int>(watchdog->ms()) : -1;
  for (;;) {
    pollfd waiting{signals.fd(), POLLIN, 0};
    poll(&waiting, 1, timeout_ms);
    muster::notify_watchdog();
    while (const auto signal = signals.next()) {
      if (*signal == muster::DaemonSignal::kStop) return;
      if (const auto reopened = muster::reopen_log(); !reopened)
        muster::log_error("{}", reopened.error().message);
      controller.reload();
    }
  }
}

int run_daemon(const Options& options, const std::string& program_dir) {
  if (const auto begun = muster::begin_process({"muster-controller"}); !begun)
    fatal(muster::kExitOs, begun.error().message);
  muster::SignalSource signals;
  auto config = muster::load_config(options.config);
  if (!config) fatal(muster::kExitConfig, config.error().message);
  muster::LogOptions log;
  log.file = config->log.file;
  if (const auto level = muster::parse_log_level(config->log.level)) log.level = *level;
  if (const auto opened = muster::open_log(log); !opened)
    fatal(muster::kExitConfig, opened.error().message);
  auto controller = muster::Controller::open(std::move(*config), MUSTER_VERSION, program_dir);
  if (!controller) fatal(exit_code_of(controller.error().code), controller.error().message);
  (*controller)->serve();
  muster::log_info("serving");
  muster::notify_ready("serving");
  serve(**controller, signals);
  muster::notify_stopping();
  muster::log_info("stopping; jobs go on");
  (*controller)->stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The controller of a Muster cluster: owns the queue, decides, keeps the journal.",
               "muster-controller"};
  Options options;
  app.add_option("--config", options.config, "the configuration file (TOML)");
  app.add_option("--check-config", options.check_config, "check a configuration file and exit")
      ->type_name("FILE");
  app.add_option("--make-key", options.make_key,
                 "make a transport key (or load it) and print its public half")
      ->type_name("FILE");
  app.add_option("--journal-cat", options.journal_cat,
                 "print the journal of a state directory as JSON lines")
      ->type_name("DIR");
  app.add_option("--journal-verify", options.journal_verify, "read the whole journal and replay it")
      ->type_name("DIR");
  app.add_option("--state-dump", options.state_dump,
                 "write the state of a state directory as one file, for gpusim")
      ->type_name("DIR FILE")
      ->expected(2);
  app.add_option("--until", options.until,
                 "the state after that record, from which the controller went on as from a dump")
      ->type_name("RECORD");
  app.add_option("--audit-verify", options.audit_verify, "check the hash chain of an audit file")
      ->type_name("FILE");
  app.add_flag("--migrate", options.migrate,
               "bring the database of --config to this release's schema and exit");
  app.set_version_flag("--version", std::string("muster-controller ") + MUSTER_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster::end_command_line(app, error);
  }
  if (!options.check_config.empty()) return check_config(options.check_config);
  if (!options.make_key.empty()) return make_key(options.make_key);
  if (!options.journal_cat.empty()) return muster::journal_cat(options.journal_cat);
  if (!options.journal_verify.empty()) return muster::journal_verify(options.journal_verify);
  if (!options.state_dump.empty())
    return muster::state_dump(options.state_dump[0], options.state_dump[1], options.until);
  if (!options.audit_verify.empty()) return verify_audit_file(options.audit_verify);
  if (options.config.empty())
    fatal(muster::kExitUsage, "give the configuration with --config FILE; --help shows the rest");
  if (options.migrate) return migrate_database(options.config);
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return run_daemon(options, self.parent_path().string());
}
