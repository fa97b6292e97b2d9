// The controller process: the real engine, a journal on a disk that loses what was not synced, an
// outbox, a session per node. A crash leaves the durable records only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/message/worker.h"
#include "base/session/session.h"
#include "controller/core/engine.h"
#include "tests/sim/cluster/world.h"

namespace muster::sim {

class Controller {
 public:
  using Answer = std::function<void(const Reply& reply, Seq seq)>;

  explicit Controller(World& world);
  void start();
  void crash(Duration until_restart);
  void stall_disk(Duration how_long) { stalled_until_ = world_.now() + how_long; }

  void receive(std::size_t node, const std::string& packet);
  // Dropped while the controller is down; the answer comes when it is durable, if the controller
  // lives until then.
  void ask(const Command& command, Answer answer);

  bool is_up() const { return engine_ != nullptr; }
  const Engine& engine() const { return *engine_; }  // While up.

 private:
  struct Errand {
    std::size_t node;
    ControllerMessage message;
  };
  struct Waiting {
    Seq after;
    Answer answer;
    Reply reply;
    std::vector<Errand> errands;
  };
  struct Peer {
    explicit Peer(std::uint64_t incarnation) : session(incarnation) {}
    Session session;
    Instant heard_at;
    bool welcomed = false;
    bool lost = false;
  };

  void replay();
  void configure();
  void step(const Command& command, Answer answer = {});
  Errand errand_of(const Effect& effect) const;
  void want_pass();
  void want_estimate();
  void sync();
  void synced(std::size_t records);
  void make_durable(std::size_t records);
  void release();
  void take_message(std::size_t node, Peer& peer, const WorkerMessage& message);
  void send(std::size_t node, const ControllerMessage& message);
  void flush(std::size_t node);
  void turn();
  std::function<void()> alive(std::function<void()> what);

  World& world_;
  std::vector<std::string> durable_;  // Encoded records.
  std::deque<std::string> unsynced_;
  std::map<Seq, std::uint64_t> digests_;
  Instant stalled_until_;
  std::uint64_t life_ =
      0;  // Rises with every start and crash: what belongs to an earlier one does not happen.

  std::unique_ptr<Engine> engine_;
  std::deque<Waiting> outbox_;
  std::map<std::size_t, Peer> peers_;
  Seq began_;  // Of this life's EpochBegun: before it is durable nobody is listened to.
  bool syncing_ = false;
  bool pass_waits_ = false;
  bool estimate_waits_ = false;
};

}  // namespace muster::sim
