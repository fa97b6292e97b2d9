// The rig's processes, orders and waiting.
#include "tests/system/launcher/node_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/order/attempt_files.h"

namespace muster::testing {
namespace {

constexpr char kTestUser[] = "daemon";
constexpr char kNode[] = "n1";

std::int64_t wall_now() { return ::time(nullptr); }

}  // namespace

bool eventually(const std::function<bool()>& condition, int seconds) {
  for (int i = 0; i < seconds * 200; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

void end_process(pid_t pid) {
  MUSTER_ASSERT(pid > 1);
  ::kill(pid, SIGKILL);
}

bool is_alive(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t at = stat.rfind(')');
  return at != std::string::npos && stat[at + 2] != 'Z';
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

NodeRig::NodeRig() : is_root_(::geteuid() == 0), key_(SigningKey::generate(1)) {
  char path[] = "/tmp/mrig-XXXXXX";
  EXPECT_NE(::mkdtemp(path), nullptr);
  root_ = path;
  ::chmod(path, 0755);
  cluster_.bytes[0] = 0x42;
  PinnedKeys keys;
  keys.cluster = cluster_;
  keys.keys.push_back(key_.pinned());
  std::ofstream(root_ + "/keys") << pinned_keys_text(keys);
  ::chmod((root_ + "/keys").c_str(), 0644);
  ::mkdir(work_path().c_str(), 0755);
  if (is_root_) {
    const passwd* user = ::getpwnam(kTestUser);
    EXPECT_EQ(::chown(work_path().c_str(), user->pw_uid, user->pw_gid), 0);
  }
}

NodeRig::~NodeRig() {
  if (launcher_ > 0 && channel_) {
    for (const auto& entry : states_) {
      if (entry.second.phase != LocalPhase::kEnded) kill(entry.first, "end of test", 0);
    }
    for (const auto& entry : std::map<AttemptKey, LocalState>(states_)) {
      if (channel_) wait(entry.first, LocalPhase::kEnded);
    }
  }
  if (launcher_ > 0) kill_launcher(SIGTERM);
  for (const std::string& group : groups()) {
    ::rmdir((group + "/ended").c_str());
    ::rmdir(group.c_str());
  }
  std::filesystem::remove_all(root_);
}

void NodeRig::start(std::vector<std::string> options) {
  if (!options.empty()) options_ = std::move(options);
  spawn_launcher();
  reconnect();
}

void NodeRig::start_may_die() {
  spawn_launcher();
  eventually([&] { return connect() || !is_alive(launcher_); });
}

void NodeRig::spawn_launcher() {
  std::vector<std::string> words{std::string(MUSTER_BINARY_DIR) + "/bin/muster-launcher",
                                 "--state-dir",
                                 root_ + "/state",
                                 "--run-dir",
                                 root_ + "/run",
                                 "--socket",
                                 root_ + "/socket",
                                 "--keys",
                                 root_ + "/keys",
                                 "--node",
                                 kNode,
                                 "--worker-uid",
                                 std::to_string(::geteuid()),
                                 "--min-uid",
                                 "1"};
  if (!is_root_) words.emplace_back("--single-user");
  words.insert(words.end(), options_.begin(), options_.end());
  words.insert(words.begin(), wrapper_.begin(), wrapper_.end());
  launcher_ = ::fork();
  if (launcher_ == 0) {
    if (const char* unit = ::getenv(kUnitVariable)) {
      // As systemd starts it; once there are groups with controllers below, as DelegateSubgroup=.
      std::ofstream there(std::string(unit) + "/cgroup.procs");
      if (!(there << "0" << std::flush))
        std::ofstream(std::string(unit) + "/launcher/cgroup.procs") << "0";
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
}

bool NodeRig::connect() {
  Result<Fd> socket = connect_local(root_ + "/socket");
  if (!socket.ok()) return false;
  channel_ = std::make_unique<LocalChannel>(std::move(*socket));
  send(*encode_local(LocalHello{}));
  return true;
}

void NodeRig::reconnect() {
  channel_.reset();
  ASSERT_TRUE(eventually([&] { return connect(); })) << "the launcher does not listen";
}

bool NodeRig::reaches(const AttemptKey& key, LocalPhase phase) {
  return eventually(
             [&] {
               pump(5);
               const auto found = states_.find(key);
               return !channel_ || (found != states_.end() && found->second.phase >= phase);
             },
             2) &&
         channel_ != nullptr;
}

void NodeRig::kill_launcher(int signal) {
  channel_.reset();
  MUSTER_ASSERT(launcher_ > 1);
  ::kill(launcher_, signal);
  ::waitpid(launcher_, nullptr, 0);
  launcher_ = -1;
}

TestJob NodeRig::script_job(const std::string& script) {
  TestJob job;
  const std::uint32_t uid = is_root_ ? ::getpwnam(kTestUser)->pw_uid : ::geteuid();
  const passwd* user = ::getpwuid(uid);
  job.common.key_id = key_.id();
  job.common.cluster = cluster_;
  job.common.attempt = {JobId{next_job_++}, Element{0}, AttemptNo{1}};
  job.common.epoch = Epoch{1};
  job.common.not_before_s = wall_now();
  job.common.expiry_s = wall_now() + kOrderLifeSeconds;
  job.common.uid = Uid{user->pw_uid};
  job.common.gid = Gid{user->pw_gid};
  job.common.groups = {user->pw_gid};
  job.common.user = user->pw_name;
  job.common.home = work_path();
  job.common.shell = "/bin/sh";
  job.common.launch.script_name = "job.sh";
  job.common.launch.cwd = work_path();
  job.common.launch.umask_bits = 027;
  job.common.job_name = "test";
  job.common.kill_wait_s = 2;
  job.common.ports = 1;
  job.common.members = {{kNode, 0, 1, 0}};
  job.node.key_id = key_.id();
  job.node.attempt = job.common.attempt;
  job.node.node = kNode;
  job.node.cpus = 1;
  job.node.memory_mib = 512;
  job.script = script;
  job.environment = std::string("GREETING=hello\0PATH=/usr/bin:/bin\0", 34);
  return job;
}

TestJob NodeRig::command_job(std::vector<std::string> argv) {
  TestJob job = script_job("");
  job.common.launch.is_command = true;
  job.common.launch.argv = std::move(argv);
  return job;
}

TestJob NodeRig::tasks_job(std::uint32_t ranks, const std::string& script) {
  TestJob job = script_job(script);
  job.common.launch.mode = LaunchMode::kTasks;
  job.common.members = {{kNode, 0, ranks, 0}};
  return job;
}

LocalPrepare NodeRig::sign(const TestJob& job) const {
  TestJob full = job;
  full.common.script_size = static_cast<std::uint32_t>(job.script.size());
  full.common.script_hash = content_hash(job.script);
  full.common.environment_size = static_cast<std::uint32_t>(job.environment.size());
  full.common.environment_hash = content_hash(job.environment);
  LocalPrepare prepare;
  prepare.key = job.common.attempt;
  prepare.common = *encode_order(full.common);
  prepare.common_signature = key_.sign(OrderKind::kCommon, prepare.common);
  full.node.attempt = job.common.attempt;
  full.node.common_hash = content_hash(prepare.common);
  prepare.node = *encode_order(full.node);
  prepare.node_signature = key_.sign(OrderKind::kNode, prepare.node);
  prepare.script = job.script;
  prepare.environment = job.environment;
  prepare.pins = job.pins;
  return prepare;
}

LocalGo NodeRig::sign_go(const TestJob& job, const std::vector<std::uint16_t>& ports) const {
  GoOrder order;
  order.key_id = key_.id();
  order.cluster = cluster_;
  order.attempt = job.common.attempt;
  order.epoch = job.common.epoch;
  order.expiry_s = wall_now() + kOrderLifeSeconds;
  order.master_address = "127.0.0.1";
  order.ports = ports;
  LocalGo go;
  go.key = job.common.attempt;
  go.go = *encode_order(order);
  go.signature = key_.sign(OrderKind::kGo, go.go);
  return go;
}

void NodeRig::go(const TestJob& job) {
  send(*encode_local(sign_go(job, states_[job.common.attempt].ports)));
}

void NodeRig::kill(const AttemptKey& key, const std::string& by, std::int64_t grace_ms) {
  LocalKill message;
  message.key = key;
  message.by = by;
  message.grace_ms = grace_ms;
  send(*encode_local(message));
}

void NodeRig::send(const std::string& frame) {
  if (channel_ && !channel_->send(frame).ok()) channel_.reset();
}

void NodeRig::pump(int timeout_ms) {
  if (!channel_) return;
  const int events = channel_->wants_write() ? POLLIN | POLLOUT : POLLIN;
  pollfd one{channel_->fd(), static_cast<short>(events), 0};
  ::poll(&one, 1, timeout_ms);
  if ((one.revents & POLLOUT) != 0) (void)channel_->flush().ok();
  Result<std::vector<ReceivedFrame>> frames = channel_->receive();
  if (!frames.ok()) {
    channel_.reset();
    return;
  }
  for (ReceivedFrame& received : *frames) {
    const Result<LocalState> state = decode_local<LocalState>(received.frame);
    if (state.ok()) {
      states_[state->key] = *state;
    } else {
      answers_.push_back(std::move(received));
    }
  }
}

bool NodeRig::is_connected() {
  pump(0);
  return channel_ != nullptr;
}

LocalState NodeRig::wait(const AttemptKey& key, LocalPhase phase, int seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  for (;;) {
    const auto found = states_.find(key);
    if (found != states_.end() && found->second.phase >= phase) return found->second;
    if (!channel_ || std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << to_text(key) << " did not get " << name_of(phase)
                    << (channel_ ? "" : ": the launcher is gone");
      return found != states_.end() ? found->second : LocalState();
    }
    pump(20);
  }
}

LocalState NodeRig::run(const TestJob& job, int seconds) {
  prepare(job);
  const LocalState prepared = wait(job.common.attempt, LocalPhase::kPrepared, seconds);
  if (prepared.phase != LocalPhase::kPrepared) return prepared;
  go(job);
  return wait(job.common.attempt, LocalPhase::kEnded, seconds);
}

std::vector<LocalState> NodeRig::list() {
  states_.clear();
  answers_.clear();
  send(*encode_local(LocalList{}));
  for (int i = 0; i < 500; ++i) {
    pump(10);
    for (const ReceivedFrame& received : answers_) {
      if (received.frame.type != LocalType::kListEnd) continue;
      std::vector<LocalState> states;
      for (const auto& entry : states_) states.push_back(entry.second);
      return states;
    }
  }
  ADD_FAILURE() << "no list";
  return {};
}

ReceivedFrame NodeRig::open_log(const AttemptKey& key, std::int32_t rank, bool errors) {
  answers_.clear();
  LocalLogOpen ask;
  ask.number = 77;
  ask.key = key;
  ask.rank = rank;
  ask.errors = errors;
  send(*encode_local(ask));
  for (int i = 0; i < 500; ++i) {
    pump(10);
    for (ReceivedFrame& received : answers_) {
      if (received.frame.type == LocalType::kLogOpened) return std::move(received);
    }
  }
  ADD_FAILURE() << "no answer to log-open";
  return {};
}

std::string NodeRig::file(const std::string& name) const { return read_file(work_path(name)); }

std::string NodeRig::work_path(const std::string& name) const {
  return root_ + "/work" + (name.empty() ? "" : "/" + name);
}

std::string NodeRig::state_path(const std::string& name) const { return root_ + "/state/" + name; }

pid_t NodeRig::shepherd_pid(const AttemptKey& key) const {
  const std::string bytes = read_file(root_ + "/run/running/" + to_text(key) + ".shepherd");
  const Result<ShepherdRecord> record = decode_file<ShepherdRecord>(bytes);
  return record.ok() ? record->pid : -1;
}

std::vector<std::string> NodeRig::groups() const {
  std::error_code error;
  // The group's name holds a hash of the state directory, so only ours are found.
  const std::string scripts = std::filesystem::canonical(state_path("scripts"), error).string();
  const Hash256 hash = content_hash(to_text(cluster_) + "\n" + kNode + "\n" + scripts);
  const std::string group = std::string("muster/") + kNode + "-" + hex(hash.bytes.data(), 4);
  std::vector<std::filesystem::path> mounts{"/sys/fs/cgroup"};  // Of cgroup v2 alone.
  if (const char* unit = ::getenv(kUnitVariable)) mounts.emplace_back(unit);
  for (const auto& mount : std::filesystem::directory_iterator("/sys/fs/cgroup", error)) {
    mounts.push_back(mount.path());
  }
  std::vector<std::string> found;
  for (const auto& mount : mounts) {
    const std::filesystem::path path = mount / group;
    if (std::filesystem::exists(path, error)) found.push_back(path.string());
  }
  return found;
}

std::size_t NodeRig::stray_groups() const {
  std::size_t strays = 0;
  for (const std::string& group : groups()) {
    for (const auto& one : std::filesystem::directory_iterator(group)) {
      if (one.is_directory() && one.path().filename() != "ended") ++strays;
    }
  }
  return strays;
}

}  // namespace muster::testing
