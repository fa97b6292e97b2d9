// gpuadmin node roll: nodes drain, are acted on and come back, a few at a time. Where each stands
// is in its reason at the controller, so that a roll goes on where it was interrupted.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "base/message/json.h"
#include "base/types/hostlist.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/roll.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"

extern char** environ;

namespace muster {

namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr auto kStopLookEvery = std::chrono::milliseconds(100);
constexpr int kStopLooks = 50;  // Five seconds between SIGTERM and SIGKILL.
constexpr std::string_view kRebootCommand =
    "ssh -o BatchMode=yes -o ConnectTimeout=20 {node} systemctl reboot";
constexpr int kSshLost = 255;  // The connection broke: so it does when the node goes down.
constexpr std::size_t kIdBytesMax = 32;

volatile sig_atomic_t interrupted = 0;
void note_interrupt(int) { interrupted = 1; }

struct RollReply {
  std::string id;
  std::vector<std::string> done;
  std::vector<std::string> failed;
  std::vector<std::string> left_alone;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "id", self.id);
    visit(2, "done", self.done);
    visit(3, "failed", self.failed);
    visit(4, "left_alone", self.left_alone);
  }
};

struct RollOrder {
  std::vector<std::string> nodes;
  RollRules rules;
  std::string command;
  std::string reason;
  WallTime deadline;  // 0: jobs end when they end.
  Duration back_within;
  std::uint32_t down_max = 1;
  bool resumes = false;
};

std::string new_id() {
  std::random_device device;
  char text[16];
  std::snprintf(text, sizeof(text), "%08x", static_cast<unsigned>(device()));
  return text;
}

class Roll {
 public:
  Roll(const Invocation& call, RollOrder order)
      : call_(call), caller_(call), order_(std::move(order)) {}

  int run() {
    if (const auto begun = begin(); !begun) return fail_command(call_, begun.error());
    say("Roll " + order_.rules.id + ": " + std::to_string(order_.nodes.size()) +
        " nodes, at most " + std::to_string(order_.down_max) + " down at once");
    while (interrupted == 0) {
      collect_acts();
      auto rows = look();
      if (!rows) return fail_command(call_, rows.error());
      if (advance(*rows)) return finish();
      std::this_thread::sleep_for(kLookEvery);
    }
    stop_acts();
    print_note(call_, "interrupted; go on with the same command and --resume " + order_.rules.id);
    return kExitInterrupted;
  }

 private:
  void say(const std::string& line) {
    if (!call_.json) print(line + "\n");
  }

  // A controller that is away is waited for: what there is to know is in its journal.
  template <class Reply, class Body>
  Result<Reply> ask(Verb verb, const Body& body) {
    for (;;) {
      auto reply = caller_.ask<Reply>(verb, body);
      if (reply || reply.error().code != ErrorCode::kUnavailable || interrupted != 0) return reply;
      print_note(call_, reply.error().message + "; still trying");
      std::this_thread::sleep_for(kLookEvery);
    }
  }

  Result<std::vector<NodeRow>> look() {
    auto reply = ask<NodesReply>(Verb::kNodes, NodesBody{order_.nodes});
    if (!reply) return reply.error();
    auto& rows = reply->rows;
    std::sort(rows.begin(), rows.end(), [](const NodeRow& a, const NodeRow& b) {
      return is_idle(a) != is_idle(b) ? is_idle(a) : host_before(a.name, b.name);
    });
    return std::move(rows);
  }

  // Nodes that another roll has left in the middle are that one's to finish.
  Result<void> begin() {
    auto rows = look();
    if (!rows) return rows.error();
    std::size_t marked = 0;
    for (const NodeRow& node : *rows) {
      const auto mark = roll_mark_of(node);
      if (!mark) continue;
      if (mark->id == order_.rules.id) {
        ++marked;
        if (mark->phase == RollPhase::kFailed) again_.insert(node.name);
      } else if (!node.drain_reason.empty()) {
        return fail(ErrorCode::kConflict,
                    "node roll: node " + node.name + " is in the middle of roll " + mark->id +
                        "; go on with --resume " + mark->id + ", or resume the node first");
      }
    }
    if (!order_.resumes || marked != 0) return {};
    return fail(ErrorCode::kNotFound, "node roll: none of these nodes is in a roll " +
                                          escape_for_terminal(order_.rules.id));
  }

  Result<void> mark(const NodeRow& node, RollPhase phase, const std::string& boot = "") {
    NodeChangeBody body;
    body.nodes = {node.name};
    body.reason = to_text(RollMark{order_.rules.id, phase, boot, order_.reason});
    if (phase == RollPhase::kDraining) body.deadline = order_.deadline;
    const Verb verb = phase == RollPhase::kDone ? Verb::kNodeResume : Verb::kNodeDrain;
    auto reply = ask<ChangeReply>(verb, body);
    return reply ? Result<void>() : Result<void>(reply.error());
  }

  RollStep step_of(const NodeRow& node) const {
    const RollStep step = roll_step(node, order_.rules);
    return step == RollStep::kOver && again_.count(node.name) != 0 ? RollStep::kAct : step;
  }

  // True when nothing is left to do.
  bool advance(const std::vector<NodeRow>& rows) {
    std::uint32_t down = 0;
    bool open = false;
    bool failed = false;
    for (const NodeRow& node : rows) {
      const RollStep step = step_of(node);
      const bool is_up = step == RollStep::kDrain || is_done(node);
      down += is_up ? 0U : 1U;
      failed = failed || (step == RollStep::kOver && !is_done(node));
      open = open || (step != RollStep::kOver && step != RollStep::kForeign);
    }
    bool moved = false;
    for (const NodeRow& node : rows) {
      const RollStep step = step_of(node);
      if (step == RollStep::kDrain) {
        if (failed || down >= order_.down_max) continue;
        ++down;
      }
      moved = act_on(node, step) || moved;
    }
    if (!acts_.empty() || moved) return false;
    // After a failure nothing more is begun; what is under way is finished.
    const bool waits = std::any_of(rows.begin(), rows.end(), [&](const NodeRow& node) {
      const RollStep step = step_of(node);
      return step == RollStep::kWait || (step == RollStep::kDrain && !failed && is_room(rows));
    });
    last_ = rows;
    return !waits || !open;
  }

  // Whether a node that is not drained yet may still get its turn.
  bool is_room(const std::vector<NodeRow>& rows) const {
    const auto lost = std::count_if(rows.begin(), rows.end(), [&](const NodeRow& node) {
      const RollStep step = step_of(node);
      return step == RollStep::kForeign || (step == RollStep::kOver && !is_done(node));
    });
    return static_cast<std::uint64_t>(lost) < order_.down_max;
  }

  bool is_done(const NodeRow& node) const {
    const auto mark = roll_mark_of(node);
    return mark && mark->id == order_.rules.id && mark->phase == RollPhase::kDone;
  }

  bool act_on(const NodeRow& node, RollStep step) {
    switch (step) {
      case RollStep::kDrain:
        note(node, "draining", mark(node, RollPhase::kDraining));
        return true;
      case RollStep::kAct:
        if (acts_.count(node.name) != 0) return false;
        again_.erase(node.name);
        begin_act(node);
        return true;
      case RollStep::kCheck:
        note(node, "rebooted", mark(node, RollPhase::kChecking, mark_boot(node)));
        return true;
      case RollStep::kReturn:
        note(node, "done", mark(node, RollPhase::kDone));
        return true;
      case RollStep::kWait:
        return give_up_late(node);
      case RollStep::kOver:
      case RollStep::kForeign:
        break;
    }
    return false;
  }

  static std::string mark_boot(const NodeRow& node) {
    const auto mark = roll_mark_of(node);
    return mark ? mark->boot : "";
  }

  void note(const NodeRow& node, const std::string& what, const Result<void>& marked) {
    say(node.name + ": " + what + (marked ? "" : ", but: " + marked.error().message));
  }

  void begin_act(const NodeRow& node) {
    const auto marked = mark(node, RollPhase::kActing, node.boot_id);
    if (!marked) return note(node, "not acted on", marked);
    const std::string command = command_for(order_.command, node.name);
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string text = command;
    char* const arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
    // In a group of its own: an interruption of ours is passed on, not shared.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    const int problem = posix_spawn(&pid, shell.c_str(), nullptr, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    if (problem != 0)
      return note(node, "failed: /bin/sh cannot be started", mark(node, RollPhase::kFailed));
    say(node.name + ": " + command);
    acts_[node.name] = Act{pid, node};
  }

  // What is cut off here is run once more when the roll goes on, so it must not run on beside that.
  void stop_acts() {
    for (const int number : {SIGTERM, SIGKILL}) {
      for (const auto& [node, act] : acts_) kill(-act.pid, number);
      for (int i = 0; i < kStopLooks && !acts_.empty(); ++i) {
        std::this_thread::sleep_for(kStopLookEvery);
        for (auto it = acts_.begin(); it != acts_.end();)
          it = waitpid(it->second.pid, nullptr, WNOHANG) == it->second.pid ? acts_.erase(it)
                                                                           : std::next(it);
      }
    }
  }

  void collect_acts() {
    for (auto it = acts_.begin(); it != acts_.end();) {
      int status = 0;
      if (waitpid(it->second.pid, &status, WNOHANG) != it->second.pid) {
        ++it;
        continue;
      }
      end_act(it->second.node, status);
      it = acts_.erase(it);
    }
  }

  void end_act(const NodeRow& node, int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    const bool fine = code == 0 || (order_.rules.reboot && code == kSshLost);
    if (!fine) {
      return note(node, "failed: the command exited with " + std::to_string(code),
                  mark(node, RollPhase::kFailed));
    }
    checked_since_[node.name] = std::chrono::steady_clock::now();
    note(node, "waiting for it to be back", mark(node, RollPhase::kChecking, node.boot_id));
  }

  bool give_up_late(const NodeRow& node) {
    const auto mark_now = roll_mark_of(node);
    if (!mark_now || mark_now->phase == RollPhase::kDraining) return false;
    const auto now = std::chrono::steady_clock::now();
    const auto since = checked_since_.try_emplace(node.name, now).first->second;
    if (now - since < std::chrono::microseconds(order_.back_within.us)) return false;
    note(node, "failed: not back within " + to_text(order_.back_within),
         mark(node, RollPhase::kFailed, mark_now->boot));
    return true;
  }

  int finish() {
    RollReply reply;
    reply.id = order_.rules.id;
    for (const NodeRow& node : last_) {
      if (is_done(node))
        reply.done.push_back(node.name);
      else if (step_of(node) == RollStep::kOver)
        reply.failed.push_back(node.name);
      else
        reply.left_alone.push_back(node.name);
    }
    if (call_.json) print(to_json(reply) + "\n");
    say("Done: " + (reply.done.empty() ? "none" : compress_hostlist(reply.done)));
    if (!reply.failed.empty()) say("Failed: " + compress_hostlist(reply.failed));
    if (!reply.left_alone.empty()) say("Left alone: " + compress_hostlist(reply.left_alone));
    if (reply.failed.empty() && reply.left_alone.empty()) return kExitOk;
    print_note(call_, "mend them and go on with the same command and --resume " + reply.id);
    return kExitFailed;
  }

  struct Act {
    pid_t pid = 0;
    NodeRow node;
  };

  const Invocation& call_;
  Caller caller_;
  RollOrder order_;
  std::map<std::string, Act> acts_;  // By node.
  std::set<std::string> again_;      // Failed in an earlier run of the command.
  std::map<std::string, std::chrono::steady_clock::time_point> checked_since_;
  std::vector<NodeRow> last_;
};

Result<RollOrder> order_of(const Arguments& options, std::span<const std::string> words) {
  RollOrder order;
  for (const std::string& word : words) {
    auto names = parse_hostlist(word);
    if (!names) return names.error();
    order.nodes.insert(order.nodes.end(), names->begin(), names->end());
  }
  order.rules.reboot = options.has("reboot");
  if (!options.has("run") && !order.rules.reboot)
    return fail(ErrorCode::kInvalid, "what to do to each node? --run COMMAND or --reboot");
  order.command = options.text("run", kRebootCommand);
  if (!options.has("max-down"))
    return fail(ErrorCode::kInvalid, "how many may be down at once? For example --max-down 2");
  order.down_max = static_cast<std::uint32_t>(*parse_count(options.text("max-down"), 1, kHostsMax));
  order.reason = options.text("reason");
  if (order.reason.empty())
    return fail(ErrorCode::kInvalid, "say why with --reason TEXT; it is shown to users and kept");
  order.back_within = minutes(30);
  if (options.has("back-within")) order.back_within = *parse_duration(options.text("back-within"));
  if (options.has("deadline")) {
    auto deadline = parse_when_ahead(options.text("deadline"), wall_now());
    if (!deadline) return deadline.error();
    order.deadline = *deadline;
  }
  order.resumes = options.has("resume");
  order.rules.id = order.resumes ? options.text("resume") : new_id();
  if (!check_name(order.rules.id) || order.rules.id.size() > kIdBytesMax)
    return fail(ErrorCode::kInvalid, "--resume: that is no roll's id");
  return order;
}

}  // namespace

int node_roll(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  const std::string shown(verb);
  if (words.empty())
    return fail_usage(call, shown +
                                ": which nodes? For example gpuadmin node roll n[1-16] --reboot "
                                "--max-down 2 --reason 'new kernel'");
  auto order = order_of(call.options(), words);
  if (!order) return fail_usage(call, shown + ": " + order.error().message);
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return Roll(call, *std::move(order)).run();
}

}  // namespace muster
