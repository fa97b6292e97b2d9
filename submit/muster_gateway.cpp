// muster-gateway: takes requests of local users to the controller.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "base/daemon/log.h"
#include "base/link/keys.h"
#include "submit/gateway/gateway.h"

namespace {

using muster::ErrorCode;

struct Arguments {
  std::string socket = "/run/muster/gateway.sock";
  std::string socket_mode = "666";
  std::string controller;
  std::string server_key;
  std::string key;
  std::string name;
  std::string log;
  std::string log_level = "info";
  bool print_key = false;
  muster::RateLimit mutating;
  muster::RateLimit reading = muster::GatewayLimits{}.reading;
};

void describe(CLI::App& app, Arguments& to) {
  app.set_version_flag("--version", std::string("muster-gateway ") + MUSTER_VERSION);
  app.add_option("--socket", to.socket, "path of the socket users connect to")
      ->capture_default_str();
  app.add_option("--socket-mode", to.socket_mode, "its mode, octal")
      ->check(CLI::IsMember({"600", "660", "666"}))
      ->capture_default_str();
  app.add_option("--controller", to.controller, "tcp://HOST:PORT of the controller's gateway port");
  app.add_option("--server-key", to.server_key,
                 "the controller's public key: Z85, or a file that has it");
  app.add_option("--key", to.key, "file of this gateway's key pair; made when there is none")
      ->required();
  app.add_option("--name", to.name, "shown in log lines and ps");
  app.add_option("--log", to.log, "log file, reopened on SIGHUP; else standard error");
  app.add_option("--log-level", to.log_level, "debug, info, warn or error")->capture_default_str();
  app.add_option("--rate", to.mutating.per_second, "changing requests a second and user")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--burst", to.mutating.burst, "and how many at once")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--read-rate", to.reading.per_second, "reading requests a second and user")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_option("--read-burst", to.reading.burst, "and how many at once")
      ->check(CLI::Range(1, 10000000))
      ->capture_default_str();
  app.add_flag("--print-key", to.print_key, "print this gateway's public key and exit");
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
      return muster::kExitConfig;
    case ErrorCode::kConflict:
      return muster::kExitTempFail;
    case ErrorCode::kLimit:
    case ErrorCode::kUnavailable:
      return muster::kExitUnavailable;
  }
  return muster::kExitSoftware;
}

[[noreturn]] void fatal(const muster::Error& error) {
  muster::fatal(exit_code_of(error.code), error.message);
}

muster::GatewayOptions options_of(const Arguments& arguments) {
  muster::GatewayOptions options;
  options.socket = arguments.socket;
  options.socket_mode = static_cast<std::uint32_t>(std::stoul(arguments.socket_mode, nullptr, 8));
  options.controller = arguments.controller;
  options.limits.mutating = arguments.mutating;
  options.limits.reading = arguments.reading;
  auto key = muster::load_or_make_key(arguments.key);
  if (!key) fatal(key.error());
  options.key = *key;
  if (arguments.print_key) return options;
  if (arguments.controller.empty() || arguments.server_key.empty()) {
    muster::fatal(muster::kExitUsage, "needs --controller and --server-key");
  }
  auto server_key = muster::public_key_from(arguments.server_key);
  if (!server_key)
    fatal(muster::fail(ErrorCode::kInvalid, "--server-key: " + server_key.error().message));
  options.server_key = *server_key;
  return options;
}

// Tells the watchdog that the loop comes round, as often as it wants to hear of it.
class Watchdog {
 public:
  void round() {
    if (!interval_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::microseconds(interval_->us);
    muster::notify_watchdog();
  }

 private:
  std::optional<muster::Duration> interval_ = muster::watchdog_interval();
  std::chrono::steady_clock::time_point next_{};
};

void serve(muster::Gateway& gateway, muster::SignalSource& signals) {
  constexpr int kTurnMs = 200;
  Watchdog watchdog;
  bool was_connected = false;
  muster::notify_ready("waiting for the controller");
  for (;;) {
    gateway.turn(kTurnMs);
    watchdog.round();
    if (gateway.is_connected() != was_connected) {
      was_connected = !was_connected;
      muster::notify_status(was_connected ? "connected" : "waiting for the controller");
    }
    const auto signal = signals.next();
    if (signal == muster::DaemonSignal::kStop) return;
    if (signal == muster::DaemonSignal::kReload) {
      if (auto reopened = muster::reopen_log(); !reopened) {
        muster::log_error("{}", reopened.error().message);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Takes requests of the users of this host to the Muster controller.",
               "muster-gateway");
  Arguments arguments;
  describe(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster::end_command_line(app, error);
  }
  if (auto begun = muster::begin_process(
          {arguments.name.empty() ? "muster-gateway" : arguments.name, 16384, 64});
      !begun) {
    fatal(begun.error());
  }
  auto level = muster::parse_log_level(arguments.log_level);
  if (!level) muster::fatal(muster::kExitUsage, level.error().message);
  if (auto opened = muster::open_log({arguments.log, *level}); !opened) fatal(opened.error());
  muster::SignalSource signals;
  const muster::GatewayOptions options = options_of(arguments);
  if (arguments.print_key) {
    std::printf("%s\n", options.key.public_key.c_str());
    return 0;
  }
  auto gateway = muster::Gateway::open(options);
  if (!gateway) fatal(gateway.error());
  (*gateway)->wake_on(signals.fd());
  muster::log_info("gateway: serving {} for {} with key {}", options.socket, options.controller,
                   options.key.public_key);
  serve(**gateway, signals);
  muster::notify_stopping();
  muster::log_info("gateway: stopped");
  return 0;
}
