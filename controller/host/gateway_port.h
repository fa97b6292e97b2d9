// The port gateways speak to: one thread that carries bytes between the link and the rest of the
// controller.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/request.h"
#include "controller/host/caller.h"

namespace muster {

struct GatewayInbound {
  PeerId peer;
  std::string gateway;  // "login1".
  std::string payload;  // Encoded StampedRequest.
};

class GatewayPort {
 public:
  using OnInbound = std::function<void(GatewayInbound)>;  // On the port's thread; must not block.
  GatewayPort(std::unique_ptr<ServerSocket> socket, OnInbound on_inbound);
  ~GatewayPort();
  GatewayPort(const GatewayPort&) = delete;
  GatewayPort& operator=(const GatewayPort&) = delete;

  void start();
  void stop();
  void respond(const Caller& caller, const Response& response);  // Any thread.

 private:
  struct Outbound {
    Caller caller;
    std::string payload;
  };
  void send(const Outbound& outbound);
  void run();
  void send_queued();

  std::unique_ptr<ServerSocket> socket_;
  OnInbound on_inbound_;
  WakeUp wake_;
  std::mutex mutex_;
  std::vector<Outbound> queued_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace muster
