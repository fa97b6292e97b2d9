// A simulated worker: speaks the real protocol over a real socket and runs nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/link/link.h"
#include "base/message/worker.h"
#include "base/session/session.h"

namespace muster {

struct SimBehaviour {
  std::uint32_t gpus = 8;
  bool holds = false;  // Runs what it is told to launch until it is killed; else it ends at once.
  bool hangs = false;  // Falls silent when it is first told to prepare, its connection left open…
  Duration hangs_for;  // …for this long; then it is started anew. 0: for ever.
};

struct SimCounts {
  std::uint64_t prepared = 0;
  std::uint64_t launched = 0;
  std::uint64_t killed = 0;
  std::uint64_t hung = 0;
};

// Ends the process with a line on standard error.
[[noreturn]] void give_up(const std::string& why);

Instant steady_now();

class SimWorker {
 public:
  SimWorker(std::unique_ptr<ClientSocket> socket, std::string name, SimBehaviour behaviour);

  ClientSocket& socket() { return *socket_; }
  bool is_welcomed() const { return is_welcomed_; }

  // Takes what has arrived, answers it and says what is due.
  void turn(SimCounts& counts);

 private:
  void take(const std::string& packet, SimCounts& counts);
  void act(const ControllerMessage& message, SimCounts& counts);
  void prepare(const PreparePart& part, WorkerMessage& reply);
  void launch(const GoPart& part, WorkerMessage& reply) const;
  bool is_hung();
  void come_back();
  void say_hello();
  void beat();
  void send(const WorkerMessage& message);
  void flush();

  std::unique_ptr<ClientSocket> socket_;
  Session session_;
  std::string name_;
  SimBehaviour behaviour_;
  bool said_hello_ = false;
  bool is_welcomed_ = false;
  bool hung_ = false;
  Instant hung_at_;
  std::uint64_t incarnation_ = 0;
  Instant beat_at_;
};

}  // namespace muster
