// Requests under way: sent, answered, sent again when the other side was away.
#include "submit/client/client.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <vector>

#include "base/types/rng.h"
#include "submit/client/channel.h"

namespace muster {
namespace {

constexpr std::int64_t kBackoffMinMs = 50;
constexpr std::int64_t kBackoffMaxMs = 2000;
constexpr std::int64_t kNoticeEveryMs = 60000;
constexpr std::int64_t kAnswerMs = 60000;  // For an answer when no retries are wanted.
constexpr std::int64_t kNever = INT64_MAX;

std::int64_t clock_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void fill_random(void* bytes, std::size_t size) {
  MUSTER_ASSERT(getrandom(bytes, size, 0) == static_cast<ssize_t>(size));
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  fill_random(&seed, sizeof seed);
  return seed;
}

// Worth another try: the answer says "not now", not "no".
bool is_passing(const Response& response) {
  if (response.ok) return false;
  return response.code == ErrorCode::kUnavailable ||
         (response.code == ErrorCode::kLimit && response.retry_after_ms != 0);
}

struct Outstanding {
  Request request;
  bool is_stream = false;
  bool is_sent = false;
  bool is_first = true;         // The next answer is the first since it was sent.
  std::int64_t send_at_ms = 0;  // Not before.
  std::int64_t deadline_ms = 0;
  std::int64_t backoff_ms = kBackoffMinMs;
  Duration timeout;
  std::string problem;  // Why there is no answer yet.
  std::deque<std::pair<Response, bool>> answers;
  std::optional<Error> error;  // The end.
  bool is_done() const { return error.has_value() || !answers.empty(); }
};

}  // namespace

std::string default_gateway_path() {
  if (const char* given = std::getenv("MUSTER_GATEWAY"); given != nullptr && given[0] != '\0') {
    return given;
  }
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr) {
    const std::string path = std::string(runtime) + "/muster/gateway.sock";
    struct stat facts {};
    if (stat(path.c_str(), &facts) == 0) return path;
  }
  return "/run/muster/gateway.sock";
}

Uuid new_request_id() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  auto ms = static_cast<std::uint64_t>(now.tv_sec * 1000 + now.tv_nsec / 1000000);
  Uuid uuid;
  fill_random(uuid.bytes.data(), uuid.bytes.size());
  for (std::size_t i = 6; i-- > 0; ms >>= 8U) uuid.bytes[i] = static_cast<std::uint8_t>(ms);
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0fU) | 0x70U);
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3fU) | 0x80U);
  return uuid;
}

struct Client::Impl {
  explicit Impl(ClientSettings given) : options(std::move(given)), rng(random_seed()) {}

  ClientSettings options;
  Rng rng;
  client::Channel channel;
  std::map<std::uint64_t, Outstanding> outstanding;
  std::uint64_t number_next = 1;
  Seq seen;
  std::int64_t connect_at_ms = 0;
  std::int64_t connect_backoff_ms = kBackoffMinMs;
  bool has_ended = false;             // A request, since advance() began.
  std::int64_t noticed_ms = -kNever;  // Of the wait that goes on; -kNever: none does.

  std::int64_t jittered(std::int64_t ms) {
    return ms * 3 / 4 + static_cast<std::int64_t>(rng.next() % 1024) * ms / 2048;
  }
  Result<std::uint64_t> add(Verb verb, std::string_view body, const CallOptions& call);
  void advance();
  void connect(std::int64_t now_ms);
  void lose(const Error& why);
  void send_due(std::int64_t now_ms);
  void expire(std::int64_t now_ms);
  std::int64_t wake_at(std::int64_t now_ms) const;
  void receive();
  void take(Response response);
  void answer(Outstanding& one, Response response);
  void retry(Outstanding& one, std::string why, std::int64_t after_ms);
  void notice(const std::string& why);
  void finish_with(Outstanding& one, ErrorCode code, const std::string& message);
};

Result<std::uint64_t> Client::Impl::add(Verb verb, std::string_view body, const CallOptions& call) {
  constexpr std::size_t kEnvelope = 256;
  if (body.size() > kMessageBytesMax - kEnvelope) {
    return fail(ErrorCode::kLimit, "the request has " + std::to_string(body.size()) +
                                       " bytes, more than a message may have; send less at once");
  }
  if (outstanding.size() >= kOutstandingMax) {
    return fail(ErrorCode::kLimit, "too many requests under way at once");
  }
  const std::uint64_t number = number_next++;
  Outstanding& one = outstanding[number];
  one.request.number = number;
  one.request.verb = verb;
  one.request.body = body;
  if (is_mutating(verb)) one.request.request_id = call.request_id.value_or(new_request_id());
  one.timeout = call.timeout.value_or(options.timeout);
  one.deadline_ms = clock_ms() + (one.timeout.us > 0 ? one.timeout.ms() : kAnswerMs);
  return number;
}

void Client::Impl::finish_with(Outstanding& one, ErrorCode code, const std::string& message) {
  one.error = fail(code, message);
  one.is_sent = true;
  has_ended = true;
}

void Client::Impl::notice(const std::string& why) {
  const std::int64_t now_ms = clock_ms();
  if (!options.on_waiting || now_ms < noticed_ms + kNoticeEveryMs) return;
  noticed_ms = now_ms;
  const std::int64_t limit_s = options.timeout.seconds();
  options.on_waiting(why + "; waiting" +
                     (limit_s > 0 ? " up to " + std::to_string(limit_s) + " s" : ""));
}

void Client::Impl::retry(Outstanding& one, std::string why, std::int64_t after_ms) {
  one.is_sent = false;
  one.problem = std::move(why);
  if (one.timeout.us <= 0) {
    finish_with(one, ErrorCode::kUnavailable, one.problem);
    return;
  }
  one.send_at_ms = clock_ms() + std::max(after_ms, jittered(one.backoff_ms));
  one.backoff_ms = std::min(one.backoff_ms * 2, kBackoffMaxMs);
  if (one.deadline_ms == kNever) one.deadline_ms = clock_ms() + one.timeout.ms();
  notice(one.problem);
}

// The connection is gone, or none came about.
void Client::Impl::lose(const Error& why) {
  connect_at_ms = clock_ms() + jittered(connect_backoff_ms);
  connect_backoff_ms = std::min(connect_backoff_ms * 2, kBackoffMaxMs);
  for (auto& [number, one] : outstanding) {
    if (one.is_done() && !one.is_stream) continue;
    if (one.error) continue;
    if (why.code != ErrorCode::kUnavailable) {
      finish_with(one, why.code, why.message);
    } else if (one.is_sent || one.problem != why.message) {
      retry(one, why.message, 0);
      one.send_at_ms = 0;  // As soon as there is a connection.
    } else if (one.timeout.us <= 0) {
      finish_with(one, why.code, why.message);
    }
  }
}

void Client::Impl::connect(std::int64_t now_ms) {
  if (channel.is_open() || now_ms < connect_at_ms) return;
  if (auto opened = channel.open(options.gateway); !opened) lose(opened.error());
}

void Client::Impl::send_due(std::int64_t now_ms) {
  if (!channel.is_open()) return;
  for (auto& [number, one] : outstanding) {
    if (one.is_sent || now_ms < one.send_at_ms) continue;
    one.is_sent = true;
    one.is_first = true;
    one.request.seen = seen;
    channel.queue(encode(one.request));
  }
  if (auto written = channel.write_some(); !written) lose(written.error());
}

void Client::Impl::expire(std::int64_t now_ms) {
  for (auto& [number, one] : outstanding) {
    if (one.is_done() || now_ms < one.deadline_ms) continue;
    std::string why = one.problem.empty() ? "no answer" : one.problem;
    why += " (gave up after " +
           std::to_string((one.timeout.us > 0 ? one.timeout.ms() : kAnswerMs) / 1000) + " s";
    if (one.request.request_id) why += "; request id " + to_text(*one.request.request_id);
    finish_with(one, ErrorCode::kUnavailable, why + ")");
  }
}

std::int64_t Client::Impl::wake_at(std::int64_t now_ms) const {
  std::int64_t at = channel.is_open() ? now_ms + 60000 : connect_at_ms;
  for (const auto& [number, one] : outstanding) {
    if (one.is_done()) continue;
    at = std::min(at, one.deadline_ms);
    if (!one.is_sent && channel.is_open()) at = std::min(at, one.send_at_ms);
  }
  return at;
}

// Does what can be done now, and waits until there is more to do.
void Client::Impl::advance() {
  has_ended = false;
  std::int64_t now_ms = clock_ms();
  connect(now_ms);
  send_due(now_ms);
  expire(now_ms);
  if (has_ended) return;
  pollfd item{channel.fd(), POLLIN, 0};
  if (channel.wants_to_write()) item.events |= POLLOUT;
  now_ms = clock_ms();
  const auto wait_ms =
      static_cast<int>(std::clamp<std::int64_t>(wake_at(now_ms) - now_ms, 0, 60000));
  const int n = poll(&item, channel.is_open() ? 1 : 0, wait_ms);
  if (n > 0) receive();
}

void Client::Impl::receive() {
  std::vector<std::string> messages;
  const auto read = channel.read_some(messages);
  for (const auto& message : messages) {
    auto response = decode<Response>(message);
    if (!response) {
      channel.close();
      lose(fail(ErrorCode::kCorrupt, "gateway: " + response.error().message));
      return;
    }
    take(std::move(*response));
  }
  if (!read) lose(read.error());
}

void Client::Impl::take(Response response) {
  if (response.number != 0) {
    const auto found = outstanding.find(response.number);
    if (found != outstanding.end()) answer(found->second, std::move(response));
    return;
  }
  if (response.ok) return;
  for (auto& [number, one] : outstanding) {  // Of the connection as a whole.
    if (!one.is_done()) answer(one, response);
  }
}

void Client::Impl::answer(Outstanding& one, Response response) {
  if (!one.is_sent || one.error || (one.is_done() && !one.is_stream)) return;
  if (is_passing(response)) {
    const std::string why = response.error.empty() ? "the controller is away" : response.error;
    if (one.timeout.us <= 0) {
      finish_with(one, response.code, why);
    } else {
      retry(one, why, response.retry_after_ms);
    }
    return;
  }
  noticed_ms = -kNever;
  connect_backoff_ms = kBackoffMinMs;
  one.backoff_ms = kBackoffMinMs;
  one.problem.clear();
  if (!response.ok) {
    finish_with(one, response.code, response.error);
    return;
  }
  if (is_mutating(one.request.verb)) seen = std::max(seen, response.seq);
  if (one.is_stream) one.deadline_ms = kNever;
  one.answers.emplace_back(std::move(response), std::exchange(one.is_first, false));
}

Client::Client(ClientSettings options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Client::~Client() = default;

Result<Response> Client::call(Verb verb, std::string_view body, const CallOptions& options) {
  auto ticket = start(verb, body, options);
  if (!ticket) return ticket.error();
  return finish(*ticket);
}

Result<std::uint64_t> Client::start(Verb verb, std::string_view body, const CallOptions& options) {
  auto number = impl_->add(verb, body, options);
  if (!number) return number;
  impl_->connect(clock_ms());
  impl_->send_due(clock_ms());
  return number;
}

Result<Response> Client::finish(std::uint64_t ticket) {
  const auto found = impl_->outstanding.find(ticket);
  if (found == impl_->outstanding.end()) {
    return fail(ErrorCode::kInvalid, "client: no such request is under way");
  }
  Outstanding& one = found->second;
  while (!one.is_done()) impl_->advance();
  Result<Response> result = one.error ? Result<Response>(*one.error)
                                      : Result<Response>(std::move(one.answers.front().first));
  impl_->outstanding.erase(found);
  return result;
}

Result<void> Client::stream(Verb verb, std::string_view body,
                            const std::function<bool(const Response&, bool first)>& on_response,
                            const CallOptions& options) {
  auto number = impl_->add(verb, body, options);
  if (!number) return number.error();
  const auto found = impl_->outstanding.find(*number);
  Outstanding& one = found->second;
  one.is_stream = true;
  Result<void> result;
  for (;;) {
    while (!one.is_done()) impl_->advance();
    if (one.answers.empty()) {
      result = *one.error;
      break;
    }
    const auto [response, first] = std::move(one.answers.front());
    one.answers.pop_front();
    const bool goes_on = on_response(response, first);
    if (goes_on && response.more) continue;
    // The other side would go on sending: only the end of the connection tells it.
    if (response.more) impl_->channel.close();
    break;
  }
  impl_->outstanding.erase(found);
  if (!impl_->channel.is_open()) impl_->lose(fail(ErrorCode::kUnavailable, "connection closed"));
  return result;
}

Seq Client::seen() const { return impl_->seen; }
void Client::note_seen(Seq seq) { impl_->seen = std::max(impl_->seen, seq); }

}  // namespace muster
