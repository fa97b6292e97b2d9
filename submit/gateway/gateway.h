// The gateway: local users in front, the controller behind, one thread in between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/link/link.h"
#include "base/types/result.h"
#include "base/types/time.h"
#include "submit/gateway/rate.h"

namespace muster {

struct GatewayLimits {
  RateLimit mutating;               // Per uid.
  RateLimit reading{10000, 20000};  // Per uid.
  std::size_t connections_max = 8192;
  std::size_t connections_per_uid_max = 512;
  std::size_t outstanding_per_connection_max = 256;  // Then it is not read from.
  std::size_t lists_per_uid_max = 16;                // Requests for long answers under way.
  std::size_t bytes_in_per_uid_max = 96U << 20U;     // Of requests that are not forwarded yet.
  std::size_t bytes_out_per_uid_max = 192U << 20U;   // Of answers that are not read yet.
  std::size_t bytes_out_per_connection_max = 64U << 20U;
  Duration stuck_max = seconds(30);  // A client that has answers waiting and reads none is dropped.
};

struct GatewayOptions {
  std::string socket;  // Path; at most 107 bytes.
  std::uint32_t socket_mode = 0666;
  std::string controller;  // "tcp://host:port" of the controller's gateway port.
  std::string server_key;  // Z85.
  KeyPair key;
  GatewayLimits limits;
};

struct GatewayCounts {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;   // Connections: overflow uid, limits.
  std::uint64_t requests = 0;  // Forwarded.
  std::uint64_t limited = 0;   // Requests answered "slower".
  std::uint64_t away = 0;      // Requests answered "the controller is away".
  std::uint64_t dropped = 0;   // Connections: malformed, not reading.
  std::size_t connections = 0;
};

class Gateway {
 public:
  // Listens, and begins to connect. kInvalid, kConflict or kUnavailable with one clear line.
  static Result<std::unique_ptr<Gateway>> open(const GatewayOptions& options);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Ends the wait of a turn when fd (of a signal, an eventfd) is readable.
  void wake_on(int fd);
  // One turn of the loop: waits at most timeout_ms for something to do.
  void turn(int timeout_ms);
  bool is_connected() const;
  GatewayCounts counts() const;

 private:
  struct Impl;
  explicit Gateway(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster
