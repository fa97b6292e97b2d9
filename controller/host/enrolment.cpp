// Tokens and the enrol port.
#include "controller/host/enrolment.h"

#include <sodium.h>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "base/order/signing.h"
#include "controller/host/clock.h"

namespace muster {

namespace {

constexpr std::string_view kStrangerPrefix = "enrol:";
constexpr std::size_t kTokenBytes = 32;

}  // namespace

Enrolment::Enrolment(EnrolmentParts parts) : parts_(std::move(parts)) {}

Enrolment::~Enrolment() { stop(); }

void Enrolment::start() {
  thread_ = std::thread([this] { run(); });
}

void Enrolment::stop() {
  stopping_ = true;
  wake_.wake();
  if (thread_.joinable()) thread_.join();
}

Result<std::string> Enrolment::make_token(const std::string& node) {
  const std::string secret = random_bytes(kTokenBytes);
  const std::string token =
      hex(reinterpret_cast<const std::uint8_t*>(secret.data()), secret.size());
  const std::lock_guard lock(mutex_);
  const Instant now = boottime();
  std::erase_if(tokens_, [&](const auto& entry) { return entry.second.until < now; });
  if (tokens_.size() >= kTokensMax)
    return fail(ErrorCode::kLimit, "node add: too many tokens are open; retry in an hour");
  tokens_[node] = {content_hash(token), now + kTokenValid};
  return token;
}

bool Enrolment::token_is_good(const EnrolAsk& ask) {
  const std::lock_guard lock(mutex_);
  const Instant now = boottime();
  if (now - tries_since_ > seconds(1)) {
    tries_since_ = now;
    tries_ = 0;
  }
  if (++tries_ > kTokenTriesPerSecondMax) return false;
  const auto found = tokens_.find(ask.node);
  if (found == tokens_.end() || found->second.until < now) return false;
  const Hash256 given = content_hash(ask.token);
  if (sodium_memcmp(given.bytes.data(), found->second.hash.bytes.data(), given.bytes.size()) != 0)
    return false;
  tokens_.erase(found);
  return true;
}

void Enrolment::take(const Inbound& inbound) {
  const auto ask = decode<EnrolAsk>(inbound.payload);
  if (!ask) return reply(inbound.peer, "this port understands only a request to enrol");
  // The key that speaks is the key that is enrolled: nobody can enrol a key they do not hold.
  if (inbound.user_id != std::string(kStrangerPrefix) + ask->public_key) {
    return reply(inbound.peer, "the key in the request is not the one that speaks");
  }
  if (!token_is_good(*ask)) {
    log_warn("enrolment of node '{}' refused: wrong, used or expired token", ask->node);
    return reply(inbound.peer,
                 "the token is wrong, used or older than an hour; 'gpuadmin node add " + ask->node +
                     "' makes a new one");
  }
  const PeerId peer = inbound.peer;
  parts_.enrol(ask->node, ask->public_key,
               [this, peer](const std::string& error) { reply(peer, error); });
}

void Enrolment::reply(const PeerId& peer, const std::string& error) {
  EnrolAnswer answer;
  if (error.empty()) {
    answer = parts_.facts;
  } else {
    answer.error = error;
  }
  {
    const std::lock_guard lock(mutex_);
    answers_.push_back({peer, encode(answer)});
  }
  wake_.wake();
}

void Enrolment::run() {
  Poller poller;
  poller.watch(*parts_.socket);
  poller.watch_fd(wake_.fd());
  while (!stopping_) {
    poller.wait(1000);
    wake_.clear();
    for (int i = 0; i < 64; ++i) {
      const auto inbound = parts_.socket->receive();
      if (!inbound.has_value()) break;
      if (inbound->user_id.starts_with(kStrangerPrefix)) take(*inbound);
    }
    std::vector<Answer> answers;
    {
      const std::lock_guard lock(mutex_);
      answers.swap(answers_);
    }
    for (const Answer& answer : answers) {
      if (!parts_.socket->send(answer.peer, answer.payload))
        log_debug("an enrolment's answer was dropped");
    }
  }
}

}  // namespace muster
