// The worker's main thread: one loop over the controller, the launcher and the mail of the other
// threads.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/daemon/daemon.h"
#include "base/link/link.h"
#include "base/link/poller.h"
#include "worker/core/worker.h"
#include "worker/host/controller_link.h"
#include "worker/host/gpu_watch.h"
#include "worker/host/launcher_link.h"
#include "worker/host/log_reader.h"
#include "worker/host/translate.h"
#include "worker/host/worker_config.h"

namespace muster {

// The attempts whose output may still grow; asked by the log reader's thread.
class LiveAttempts {
 public:
  void set(AttemptKey key, bool is_live);
  void assign(const std::vector<HeldAttempt>& attempts);
  bool has(AttemptKey key) const;

 private:
  mutable std::mutex mutex_;
  std::set<AttemptKey> live_;
};

class WorkerDaemon {
 public:
  // Reads the machine, opens the links and starts the threads. The config must have been checked.
  static Result<std::unique_ptr<WorkerDaemon>> start(const WorkerConfig& config,
                                                     const std::string& release);
  ~WorkerDaemon();
  WorkerDaemon(const WorkerDaemon&) = delete;
  WorkerDaemon& operator=(const WorkerDaemon&) = delete;

  void run(SignalSource& signals);  // Until a stop signal.
  void stop();                      // Any thread: makes run() return.
  void run_until_stopped();         // As run(), without signals.

 private:
  WorkerDaemon(WorkerConfig config, Inventory machine, Topology topology);
  Result<void> open_links();
  GpuWatchOptions gpu_options(const std::string& plugin) const;
  void loop(SignalSource* signals);
  void turn(Instant now);
  void wait(int signal_fd, Instant now);
  void take_gpus(Instant now);
  void take_controller(Instant now);
  void take_message(const ControllerMessage& message, Instant now);
  template <class Input>
  void take_order(Result<LauncherOrder> order, Instant now);
  void take_launcher(Instant now);
  void take_frame(ReceivedFrame& received, Instant now);
  void take_log_requests();
  void step(const WorkerInput& input, Instant now, std::string frame = {});
  void say_hello(const WorkerOutput& out);
  void flush(Instant now);
  bool is_stopping() const { return stopping_; }

  WorkerConfig config_;
  Inventory inventory_;
  bool has_inventory_ = false;
  bool met_ = false;  // The controller was met while there was no inventory to tell.
  std::string boot_id_;
  std::uint64_t incarnation_ = 0;
  LinkContext context_;
  WorkerState state_;
  Pinner pinner_;
  LiveAttempts live_;
  LauncherLink launcher_;
  std::unique_ptr<ControllerLink> controller_;
  WorkerMessage outgoing_;  // Reports of this turn.
  Instant ticked_at_;
  Instant refused_until_;

  WakeUp wake_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // Of the mail below.
  std::optional<std::vector<GpuFacts>> gpus_mail_;
  std::vector<LocalLogOpen> log_mail_;
  std::unique_ptr<GpuWatch> gpu_watch_;
  std::unique_ptr<LogReader> log_reader_;
};

}  // namespace muster
