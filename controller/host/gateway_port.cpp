// Bytes in, bytes out.
#include "controller/host/gateway_port.h"

#include "base/daemon/log.h"
#include "base/message/codec.h"

namespace muster {

namespace {

constexpr int kInboundPerTurn = 256;  // Answers go out in between.
constexpr std::string_view kGatewayPrefix = "gateway:";

std::string stamped(const Caller& caller, const Response& response) {
  StampedResponse envelope;
  envelope.connection = caller.connection;
  envelope.response = encode(response);
  return encode(envelope);
}

}  // namespace

GatewayPort::GatewayPort(std::unique_ptr<ServerSocket> socket, OnInbound on_inbound)
    : socket_(std::move(socket)), on_inbound_(std::move(on_inbound)) {}

GatewayPort::~GatewayPort() { stop(); }

void GatewayPort::start() {
  thread_ = std::thread([this] { run(); });
}

void GatewayPort::stop() {
  stopping_ = true;
  wake_.wake();
  if (thread_.joinable()) thread_.join();
}

void GatewayPort::respond(const Caller& caller, const Response& response) {
  Outbound outbound{caller, stamped(caller, response)};
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = queued_.empty();
    queued_.push_back(std::move(outbound));
  }
  if (first) wake_.wake();
}

void GatewayPort::send_queued() {
  std::vector<Outbound> ready;
  {
    const std::lock_guard lock(mutex_);
    ready.swap(queued_);
  }
  for (const Outbound& outbound : ready) send(outbound);
}

void GatewayPort::send(const Outbound& outbound) {
  const auto sent = socket_->send(outbound.caller.peer, outbound.payload);
  if (sent) return;
  // A gateway that is gone: its clients ask again under the same request ids.
  log_debug("gateway port: an answer was dropped: {}", sent.error().message);
  if (sent.error().code != ErrorCode::kLimit) return;
  const Error full = fail(ErrorCode::kLimit, "too many answers wait for this gateway; retry");
  const auto told = socket_->send(outbound.caller.peer,
                                  stamped(outbound.caller, refusal(outbound.caller, full, 1000)));
  if (!told) log_warn("gateway {}: it does not read its answers", outbound.caller.gateway);
}

void GatewayPort::run() {
  Poller poller;
  poller.watch(*socket_);
  poller.watch_fd(wake_.fd());
  while (!stopping_) {
    poller.wait(1000);
    wake_.clear();
    for (int i = 0; i < kInboundPerTurn; ++i) {
      auto inbound = socket_->receive();
      if (!inbound.has_value()) break;
      if (!inbound->user_id.starts_with(kGatewayPrefix)) continue;
      on_inbound_({std::move(inbound->peer), inbound->user_id.substr(kGatewayPrefix.size()),
                   std::move(inbound->payload)});
    }
    send_queued();
  }
}

}  // namespace muster
