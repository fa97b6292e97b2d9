// What shepherds tell, how their death is noticed, and how they are found again after a restart.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/order/small_file.h"
#include "worker/launcher/launcher.h"

namespace muster {
namespace {

constexpr std::int64_t kAdoptMs = 3000;

std::string this_boot() {
  const Result<std::string> text = read_file(-1, "/proc/sys/kernel/random/boot_id", 64);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

}  // namespace

void Launcher::recover() {
  was_rebooted_ = store_.last_boot() != this_boot();
  for (const AttemptKey& key : store_.attempts()) {
    Result<Fd> directory = store_.open_attempt(key);
    if (!directory.ok()) continue;
    Attempt& attempt = attempts_[key];
    attempt.directory = std::move(*directory);
    attempt.state.key = key;
    attempt.state.phase = LocalPhase::kRunning;
    attempt.is_guess = true;
    attempt.expiry_s = wall_seconds() + kOrderLifeSeconds + kClockSkewSeconds;
    attempt.adopt_until_ms = wall_seconds() * 1000 + kAdoptMs;
    look_for_shepherd(key, attempt);
  }
  if (was_rebooted_) settle_reboot();
}

// The new boot is noted once everything of the old one has its record; dying before that only
// repeats the work.
void Launcher::settle_reboot() {
  for (const auto& entry : attempts_) {
    if (entry.second.link == Link::kReaper || entry.second.adopt_until_ms != 0) return;
  }
  if (store_.note_boot(this_boot()).ok()) was_rebooted_ = false;
}

void Launcher::look_again(std::int64_t now_ms) {
  for (auto& entry : attempts_) {
    Attempt& attempt = entry.second;
    if (attempt.adopt_until_ms == 0) continue;
    look_for_shepherd(entry.first, attempt);
    if (attempt.adopt_until_ms == 0 || now_ms < attempt.adopt_until_ms) continue;
    reap(entry.first, attempt);
  }
}

void Launcher::look_for_shepherd(const AttemptKey& key, Attempt& attempt) {
  const Result<ExitFile> exit = Store::read_exit(attempt.directory.number());
  if (exit.ok()) {
    note_ended(key, attempt, *exit);
    return;
  }
  attempt.blame(CauseKind::kShepherdFailed, Retry::kAnywhere, "its shepherd died");
  const Result<ShepherdRecord> record = store_.read_shepherd(key);
  if (was_rebooted_ && (!record.ok() || record->boot_id != this_boot())) {
    attempt.blame(CauseKind::kNodeFailed, Retry::kAnywhere, "the node was restarted");
    reap(key, attempt);
    return;
  }
  if (!record.ok()) {
    // Ordered, but as far as is known nobody ever ran for it.
    attempt.blame(CauseKind::kLaunchFailed, Retry::kAnywhere,
                  "the launcher stopped before its shepherd started");
    attempt.state.phase = LocalPhase::kPreparing;
    return;
  }
  attempt.state.epoch = record->epoch;
  if (attempt.state.ports.empty()) {
    attempt.state.ports = record->ports;
    ports_.note(record->ports);
  }
  if (connect_shepherd(key, attempt, *record)) {
    attempt.adopt_until_ms = 0;
  } else if (::kill(record->pid, 0) != 0 && errno == ESRCH) {
    reap(key, attempt);
  }
}

// It must be the process that took the claim; whoever has its number now would not hold this
// socket.
bool Launcher::connect_shepherd(const AttemptKey& key, Attempt& attempt,
                                const ShepherdRecord& record) {
  const std::string path = "/proc/self/fd/" + std::to_string(store_.run_directory()) + "/" +
                           to_text(key) + kSocketSuffix;
  Result<Fd> socket = connect_local(path);
  if (!socket.ok()) return false;
  const Result<LocalPeer> peer = peer_of(socket->number());
  if (!peer.ok() || peer->uid != ::geteuid() ||
      peer->pid != static_cast<std::uint32_t>(record.pid)) {
    return false;  // Not its shepherd.
  }
  attempt.channel = std::make_unique<LocalChannel>(std::move(*socket));
  attempt.link = Link::kShepherd;
  attempt.token = record.token;
  LocalHello hello;
  hello.token = record.token;
  (void)attempt.channel->send(*encode_local(hello)).ok();
  for (std::string& frame : attempt.waiting) (void)attempt.channel->send(std::move(frame)).ok();
  attempt.waiting.clear();
  return true;
}

// Kills what is left of the attempt and has its exit record written; note_gone() reads it.
void Launcher::reap(const AttemptKey& key, Attempt& attempt) {
  attempt.adopt_until_ms = 0;
  attempt.waiting.clear();
  if (!was_rebooted_ && end_unclaimed(key, attempt)) return;
  ShepherdSpec spec = spec_for(key, ShepherdMode::kReap);
  spec.reap_cause = attempt.end;
  spec.reap_cause.node = settings_.node;
  spec.reap_launched = attempt.was_running || attempt.end.kind == CauseKind::kNodeFailed;
  Result<Fd> socket = spawner_.spawn(spec, directories_of(attempt), {});
  if (!socket.ok()) {
    say(key, socket.error().message);
    attempt.adopt_until_ms = wall_seconds() * 1000 + 1000;  // Try again.
    return;
  }
  attempt.channel = std::make_unique<LocalChannel>(std::move(*socket));
  attempt.link = Link::kReaper;
  attempt.is_guess = false;
  if (attempt.state.phase != LocalPhase::kEnded) attempt.state.phase = LocalPhase::kStopping;
}

// Once we hold the claim nothing of it can start any more, and nothing did: there is nobody to
// kill, and no need for a process that might not start either.
bool Launcher::end_unclaimed(const AttemptKey& key, Attempt& attempt) {
  if (!store_.claim(key)) return false;
  if (attempt.end.kind == CauseKind::kShepherdFailed) {
    attempt.blame(CauseKind::kLaunchFailed, Retry::kElsewhere,
                  "its shepherd ended before it began");
  }
  ExitFile exit{key, attempt.state.epoch, 0, {}};
  exit.record.cause = attempt.end;
  exit.record.cause.node = settings_.node;
  exit.record.ended_wall = {wall_seconds() * 1000000};
  if (!write_exit_file(attempt.directory.number(), exit).ok()) return false;
  note_ended(key, attempt, exit);
  return true;
}

void Launcher::read_shepherd(const AttemptKey& key, Attempt& attempt) {
  Result<std::vector<ReceivedFrame>> frames = attempt.channel->receive();
  if (!frames.ok()) {
    note_gone(key, attempt);
    return;
  }
  for (ReceivedFrame& received : *frames) {
    if (Result<LocalState> state = decode_local<LocalState>(received.frame); state.ok()) {
      note_state(attempt, std::move(*state));
    } else if (Result<LocalLogOpened> opened = decode_local<LocalLogOpened>(received.frame);
               opened.ok()) {
      answer_log(opened->number, std::move(*opened), std::move(received.fd));
    }
  }
}

void Launcher::note_state(Attempt& attempt, LocalState state) {
  if (attempt.state.phase == LocalPhase::kEnded) return;
  if (state.epoch.value == 0) state.epoch = attempt.state.epoch;
  attempt.state = std::move(state);
  attempt.is_guess = false;
  attempt.was_running = attempt.was_running || attempt.state.phase == LocalPhase::kRunning;
  if (attempt.state.phase == LocalPhase::kEnded) ports_.give_back(attempt.state.ports);
  push(attempt.state);
}

// Its process ended. The exit record decides; without one the shepherd died, and a reaper follows
// it.
void Launcher::note_gone(const AttemptKey& key, Attempt& attempt) {
  const bool was_reaper = attempt.link == Link::kReaper;
  attempt.channel.reset();
  attempt.link = Link::kNone;
  for (auto entry = log_asks_.begin(); entry != log_asks_.end();) {
    const auto ask = entry++;
    LocalLogOpened answer;
    answer.error = "it has just ended, retry";
    if (ask->second.key == key) answer_log(ask->first, std::move(answer), Fd());
  }
  if (attempt.state.phase == LocalPhase::kEnded) return;
  const Result<ExitFile> exit = Store::read_exit(attempt.directory.number());
  if (exit.ok()) {
    note_ended(key, attempt, *exit);
    return;
  }
  if (was_reaper) {
    attempt.adopt_until_ms = wall_seconds() * 1000 + 1000;  // Try again.
    return;
  }
  attempt.blame(CauseKind::kShepherdFailed, Retry::kAnywhere, "its shepherd died");
  say(key, attempt.end.evidence);
  reap(key, attempt);
}

void Launcher::note_ended(const AttemptKey& key, Attempt& attempt, const ExitFile& file) {
  attempt.adopt_until_ms = 0;
  attempt.is_guess = false;
  ports_.give_back(attempt.state.ports);
  attempt.state.phase = LocalPhase::kEnded;
  if (file.epoch.value != 0) attempt.state.epoch = file.epoch;
  attempt.state.record = file.record;
  attempt.expiry_s = std::max(attempt.expiry_s, file.order_expiry_s + kClockSkewSeconds);
  push(attempt.state);
  // Its shepherd died between the record and the cleaning up.
  if (attempt.link == Link::kNone && store_.is_uncleaned(key)) reap(key, attempt);
}

void notify_service_manager(const char* text) {
  // The one variable of our environment that is ever looked at; systemd sets it.
  const char* path = ::secure_getenv("NOTIFY_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t size = std::strlen(path);
  if (size == 0 || size >= sizeof(address.sun_path)) return;
  std::memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';
  const Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size);
  ::sendto(socket.number(), text, std::strlen(text), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace muster
