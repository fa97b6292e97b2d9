// The thread that owns the engine: takes commands from a bounded queue, steps, hands records to the
// disk and the rest to the outbox. Nothing here waits for the network or for a reader.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "controller/core/engine.h"
#include "controller/host/clock.h"
#include "controller/host/disk.h"
#include "controller/host/outbox.h"

namespace muster {

constexpr std::size_t kCommandsQueuedMax = 65536;
constexpr Duration kTickEvery = milliseconds(250);

struct QueuedCommand {
  Command command;
  ReplyTo reply_to;
};
// Looks at the engine between two steps: explanations and dry runs, which need the present ledger.
// Must be quick.
using EngineLook = std::function<void(const Engine&, Now)>;

class EngineLoop {
 public:
  EngineLoop(Engine& engine, Disk& disk, Outbox& outbox, const Clock& clock);
  // Called on the engine's thread when a segment was sealed; set before start().
  void when_sealed(std::function<void()> sealed) { sealed_ = std::move(sealed); }
  ~EngineLoop();
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  void start();
  void stop();  // After the command at work; what is still queued is dropped (clients retry).

  // False when the queue is full: answer "busy, retry". Any thread.
  bool push(QueuedCommand command);
  bool look(EngineLook look);
  // The last look ahead at starts. Never null. Any thread.
  std::shared_ptr<const StartTable> starts() const;

 private:
  struct Queued {
    std::vector<QueuedCommand> commands;
    std::vector<EngineLook> looks;
  };
  void run();
  Queued take(Duration patience);
  void step(QueuedCommand& queued);
  void flush();
  void seal_segment();

  Engine& engine_;
  Disk& disk_;
  Outbox& outbox_;
  const Clock& clock_;
  std::function<void()> sealed_;
  ViewSource source_;
  std::vector<OutboxItem> made_;
  bool pass_wanted_ = true;
  bool estimate_wanted_ = false;
  Instant ticked_at_;

  mutable std::mutex mutex_;
  std::condition_variable woken_;
  Queued queued_;
  bool stopping_ = false;
  std::shared_ptr<const StartTable> starts_;
  std::thread thread_;
};

}  // namespace muster
