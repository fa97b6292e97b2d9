// Plays the worker of a node against a real muster-launcher and its shepherds.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/order/local_channel.h"
#include "base/order/order.h"
#include "base/order/signing.h"

namespace muster::testing {

// What a test wants to run; the rig makes orders of it.
struct TestJob {
  CommonOrder common;
  NodeOrder node;
  std::string script;
  std::vector<RankPin> pins;
  std::string environment;
};

// Names the group of a systemd unit on a machine with cgroup v2 alone, for launchers to start in.
constexpr char kUnitVariable[] = "MUSTER_TEST_UNIT";

class NodeRig {
 public:
  NodeRig();
  ~NodeRig();

  bool is_root() const { return is_root_; }
  void start(std::vector<std::string> options = {});
  // Words to put before the launcher's own from the next start() on: a tracer that makes calls
  // fail.
  void run_under(std::vector<std::string> words) { wrapper_ = std::move(words); }
  void start_may_die();  // As start(), but the launcher may die before it listens.
  void kill_launcher(int signal);
  void reconnect();

  // A job of the test's user in its directory: script, or (without one) a command.
  TestJob script_job(const std::string& script);
  TestJob command_job(std::vector<std::string> argv);
  TestJob tasks_job(std::uint32_t ranks, const std::string& script);

  LocalPrepare sign(const TestJob& job) const;
  LocalGo sign_go(const TestJob& job, const std::vector<std::uint16_t>& ports) const;
  void prepare(const TestJob& job) { send(*encode_local(sign(job))); }
  void go(const TestJob& job);  // With the ports the launcher reported.
  void kill(const AttemptKey& key, const std::string& by, std::int64_t grace_ms = -1);
  void send(const std::string& frame);

  // The next state of key that is at least that far; fails the test after some seconds.
  LocalState wait(const AttemptKey& key, LocalPhase phase, int seconds = 20);
  // prepare, wait, go, wait.
  LocalState run(const TestJob& job, int seconds = 20);
  std::vector<LocalState> list();
  ReceivedFrame open_log(const AttemptKey& key, std::int32_t rank, bool errors = false);

  std::string file(const std::string& name) const;  // Content, in the job's directory.
  std::string work_path(const std::string& name = "") const;
  std::string state_path(const std::string& name) const;
  pid_t shepherd_pid(const AttemptKey& key) const;
  pid_t launcher_pid() const { return launcher_; }
  std::size_t stray_groups() const;         // Control groups left of this rig's attempts.
  std::vector<std::string> groups() const;  // Those that all of them share.
  const SigningKey& key() const { return key_; }
  bool is_connected();
  // Gives the launcher a moment; whether key is at least that far by then.
  bool reaches(const AttemptKey& key, LocalPhase phase);

 private:
  void spawn_launcher();
  bool connect();
  void pump(int timeout_ms);

  bool is_root_ = false;
  std::string root_;
  SigningKey key_;
  Uuid cluster_;
  std::vector<std::string> options_;
  std::vector<std::string> wrapper_;
  pid_t launcher_ = -1;
  std::unique_ptr<LocalChannel> channel_;
  std::map<AttemptKey, LocalState> states_;
  std::vector<ReceivedFrame> answers_;
  std::uint64_t next_job_ = 1;
};

// Waits up to seconds until condition holds.
bool eventually(const std::function<bool()>& condition, int seconds = 10);
bool is_alive(pid_t pid);
void end_process(pid_t pid);  // SIGKILL; asserts that pid names one process, never all of them.
std::string read_file(const std::string& path);

}  // namespace muster::testing
