// Who sent a request and where its answer goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/link/link.h"
#include "base/message/request.h"
#include "controller/core/command.h"

namespace muster {

struct Caller {
  PeerId peer;                   // The gateway's connection.
  std::string gateway;           // Its authenticated name.
  std::uint64_t connection = 0;  // The client's connection at that gateway.
  std::uint64_t number = 0;      // The client's number of the request.
  Requester who;
};

// Queues an answer for the network; any thread; never blocks.
using Respond = std::function<void(const Caller& caller, Response response)>;

inline Response answer(const Caller& caller, Seq seq, std::string body) {
  Response response;
  response.number = caller.number;
  response.seq = seq;
  response.body = std::move(body);
  return response;
}

inline Response refusal(const Caller& caller, const Error& error,
                        std::uint32_t retry_after_ms = 0) {
  Response response;
  response.number = caller.number;
  response.ok = false;
  response.code = error.code;
  response.error = error.message;
  response.retry_after_ms = retry_after_ms;
  return response;
}

}  // namespace muster
