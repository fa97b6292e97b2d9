// The loop of the gateway: epoll over clients, the controller's link, and time.
#include "submit/gateway/gateway.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "base/message/request.h"
#include "base/message/verbs.h"
#include "submit/gateway/connection.h"
#include "submit/gateway/listener.h"
#include "submit/gateway/peek.h"

namespace muster {
namespace {

constexpr std::uint64_t kListenerTag = 0;
constexpr std::uint64_t kLinkTag = 1;
constexpr std::uint64_t kWakeTag = 2;
constexpr std::uint64_t kFirstConnection = 16;
constexpr int kEventsPerTurn = 128;
constexpr int kAnswersPerTurn = 1024;
constexpr int kAcceptsPerTurn = 64;
constexpr std::uint32_t kAwayRetryMs = 500;
constexpr std::uint32_t kLostRetryMs = 200;
constexpr std::uint32_t kFullRetryMs = 100;
constexpr std::int64_t kSweepMs = 1000;
constexpr std::size_t kMuchUnread = 1U << 20U;  // Answers first, then the next request.
constexpr int kTickMs = 100;
constexpr int kBusyTickMs = 5;

std::int64_t clock_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

std::string refusal(std::uint64_t number, const Error& error, std::uint32_t retry_after_ms = 0) {
  Response response;
  response.number = number;
  response.ok = false;
  response.code = error.code;
  response.error = error.message;
  response.retry_after_ms = retry_after_ms;
  return encode(response);
}

struct User {
  std::size_t connections = 0;
  std::size_t lists = 0;           // Under way.
  std::set<std::uint64_t> queued;  // Connections whose next request waits for one of those to end.
};

// Verbs whose answer may be megabytes: few at a time per user, so that one user's do not fill the
// link.
bool is_list(Verb verb) {
  return verb == Verb::kJobs || verb == Verb::kNodes || verb == Verb::kAccounting;
}

}  // namespace

struct Gateway::Impl {
  Impl(const GatewayOptions& given, Listener opened)
      : options(given),
        listener(std::move(opened)),
        mutating(given.limits.mutating),
        reading(given.limits.reading) {}
  ~Impl() {
    if (epoll >= 0) close(epoll);
  }

  GatewayOptions options;
  Listener listener;
  LinkContext context;
  std::unique_ptr<ClientSocket> controller;
  int epoll = -1;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections;
  std::unordered_map<std::uint32_t, User> users;
  std::vector<std::uint64_t> dirty;  // Connections with something new to send.
  RateLimiter mutating;
  RateLimiter reading;
  GatewayCounts counts;
  std::uint64_t connection_next = kFirstConnection;
  std::uint64_t incarnation = 0;
  bool was_connected = false;
  bool is_accepting = true;
  std::int64_t swept_ms = 0;
  std::int64_t now_ms = 0;
  std::int64_t logged_ms = 0;

  void watch(int fd, std::uint64_t tag, std::uint32_t events, int operation) const;
  void accept_all();
  void admit(Accepted accepted);
  std::string why_not(const Credentials& who) const;
  void serve(Connection& client, std::uint32_t events);
  bool read(Connection& client);
  void forward_waiting(Connection& client);
  bool forward(Connection& client, std::string message);
  void settle(Connection& client, std::uint64_t number);
  Result<void> check_request(const Connection& client, const RequestHead& head,
                             std::uint32_t& retry_ms);
  Result<void> send(const Connection& client, std::string message);
  void mark_dirty(std::uint64_t id);
  void refuse(Connection& client, std::uint64_t number, const Error& error, std::uint32_t retry_ms);
  void answer(Connection& client, std::string_view response);
  void follow_link();
  void fail_outstanding();
  void take_answers();
  void take(const std::string& bytes);
  void drop(std::uint64_t id, std::string_view why);
  void flush_dirty();
  void set_events(Connection& client) const;
  void sweep();
  std::size_t bytes_of(Uid uid, bool in) const;
  void log_rarely(const std::string& line);
};

void Gateway::Impl::watch(int fd, std::uint64_t tag, std::uint32_t events, int operation) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tag;
  MUSTER_ASSERT(epoll_ctl(epoll, operation, fd, &event) == 0);
}

void Gateway::Impl::log_rarely(const std::string& line) {
  if (now_ms < logged_ms + 1000) return;
  logged_ms = now_ms;
  log_warn("{}", line);
}

// ---- clients ----

void Gateway::Impl::accept_all() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    auto accepted = listener.accept_one();
    if (!accepted) {
      // Out of descriptors: stop asking until a sweep, else the loop would spin.
      log_rarely("gateway: " + accepted.error().message);
      watch(listener.fd(), kListenerTag, 0, EPOLL_CTL_MOD);
      is_accepting = false;
      return;
    }
    if (!accepted->has_value()) return;
    admit(std::move(**accepted));
  }
}

std::string Gateway::Impl::why_not(const Credentials& who) const {
  if (connections.size() >= options.limits.connections_max) return "the gateway is full";
  const auto user = users.find(who.uid.value);
  const bool is_full =
      user != users.end() && user->second.connections >= options.limits.connections_per_uid_max;
  if (!is_full) return {};
  return "you have " + std::to_string(user->second.connections) +
         " connections to this gateway already, the most one user may have";
}

void Gateway::Impl::admit(Accepted accepted) {
  ++counts.accepted;
  const std::uint64_t id = connection_next++;
  Error error = fail(ErrorCode::kLimit, "");
  std::uint32_t retry_ms = kAwayRetryMs;
  if (accepted.who) {
    error.message = why_not(*accepted.who);
  } else {
    error = accepted.who.error();
    retry_ms = 0;
  }
  const Credentials who = accepted.who ? *accepted.who : Credentials{};
  auto client = std::make_unique<Connection>(id, accepted.fd, who);
  if (!error.message.empty()) {
    ++counts.refused;
    log_rarely("gateway: refused a connection of uid " + std::to_string(who.uid.value) + ": " +
               error.message);
    client->queue(refusal(0, error, retry_ms));
    client->write_some(now_ms);
    return;
  }
  ++users[who.uid.value].connections;
  client->events = EPOLLIN;
  watch(client->fd(), id, client->events, EPOLL_CTL_ADD);
  connections.emplace(id, std::move(client));
}

void Gateway::Impl::drop(std::uint64_t id, std::string_view why) {
  const auto found = connections.find(id);
  if (found == connections.end()) return;
  Connection& client = *found->second;
  if (!why.empty()) {
    ++counts.dropped;
    log_rarely("gateway: dropped a connection of uid " + std::to_string(client.who().uid.value) +
               ": " + std::string(why));
  }
  if (!client.outstanding.empty()) {
    StampedRequest gone;
    gone.connection = id;
    gone.uid = client.who().uid;
    gone.closed = true;
    // When the controller is away it has nothing to drop.
    static_cast<void>(controller->send(encode(gone)).ok());
  }
  while (!client.outstanding.empty()) settle(client, client.outstanding.begin()->first);
  const auto user = users.find(client.who().uid.value);
  if (user != users.end() && --user->second.connections == 0) users.erase(user);
  connections.erase(found);
}

void Gateway::Impl::serve(Connection& client, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0 && !client.write_some(now_ms)) return drop(client.id(), "");
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !read(client)) return;
  forward_waiting(client);
  set_events(client);
}

// False: the connection has ended.
bool Gateway::Impl::read(Connection& client) {
  auto result = client.read_some();
  std::uint32_t retry_ms = 0;
  if (result && client.bytes_in() > kFrameDataMax &&
      bytes_of(client.who().uid, true) > options.limits.bytes_in_per_uid_max) {
    result = fail(ErrorCode::kLimit, "you are sending too much at once");
    retry_ms = kAwayRetryMs;
  }
  if (result) return true;
  const bool has_left = result.error().code == ErrorCode::kUnavailable;
  if (!has_left) {
    client.queue(refusal(0, result.error(), retry_ms));
    client.write_some(now_ms);
  }
  drop(client.id(), has_left ? "" : result.error().message);
  return false;
}

void Gateway::Impl::forward_waiting(Connection& client) {
  while (client.has_waiting() && !client.closes_when_sent && client.bytes_out() < kMuchUnread &&
         client.outstanding.size() < options.limits.outstanding_per_connection_max) {
    if (!forward(client, client.next_waiting())) return;
  }
}

// False: not now. The message is the connection's next again.
bool Gateway::Impl::forward(Connection& client, std::string message) {
  const auto head = peek_request(message);
  if (!head) {
    ++counts.dropped;
    refuse(client, 0, head.error(), 0);
    client.closes_when_sent = true;
    return true;
  }
  User& user = users[client.who().uid.value];
  const bool list = is_list(head->verb);
  if (list && user.lists >= options.limits.lists_per_uid_max) {
    client.put_back(std::move(message));
    user.queued.insert(client.id());
    return false;
  }
  std::uint32_t retry_ms = 0;
  if (auto refused = check_request(client, *head, retry_ms); !refused) {
    refuse(client, head->number, refused.error(), retry_ms);
    return true;
  }
  if (auto sent = send(client, std::move(message)); !sent) {
    refuse(client, head->number, sent.error(),
           sent.error().code == ErrorCode::kUnavailable ? kFullRetryMs : 0);
    return true;
  }
  ++counts.requests;
  client.outstanding.emplace(head->number, list);
  if (list) ++user.lists;
  return true;
}

Result<void> Gateway::Impl::check_request(const Connection& client, const RequestHead& head,
                                          std::uint32_t& retry_ms) {
  if (client.outstanding.count(head.number) != 0) {
    return fail(ErrorCode::kInvalid, "a request of that number is under way");
  }
  if (!controller->connected()) {
    ++counts.away;
    retry_ms = kAwayRetryMs;
    const std::string problem = controller->last_problem();
    return fail(ErrorCode::kUnavailable, "the controller at " + options.controller + " is away" +
                                             (problem.empty() ? "" : " (" + problem + ")"));
  }
  RateLimiter& limiter = is_mutating(head.verb) ? mutating : reading;
  retry_ms = limiter.take(client.who().uid, head.cost, now_ms);
  if (retry_ms == 0) return {};
  ++counts.limited;
  return fail(ErrorCode::kLimit, "too many requests from you; slower, please");
}

Result<void> Gateway::Impl::send(const Connection& client, std::string message) {
  StampedRequest stamped;
  stamped.connection = client.id();
  stamped.uid = client.who().uid;
  stamped.gid = client.who().gid;
  stamped.pid = client.who().pid;
  stamped.request = std::move(message);
  const std::string payload = encode(stamped);
  if (payload.size() > kLinkPayloadBytesMax) {
    return fail(ErrorCode::kLimit, "the request is too large");
  }
  if (controller->send(payload)) return {};
  ++counts.away;
  return fail(ErrorCode::kUnavailable, "the controller is busy");
}

// The request has had its last answer.
void Gateway::Impl::settle(Connection& client, std::uint64_t number) {
  const auto found = client.outstanding.find(number);
  if (found == client.outstanding.end()) return;
  const bool list = found->second;
  client.outstanding.erase(found);
  const auto user = users.find(client.who().uid.value);
  if (!list || user == users.end()) return;
  --user->second.lists;
  std::set<std::uint64_t> queued;
  queued.swap(user->second.queued);
  for (const std::uint64_t id : queued) mark_dirty(id);
}

void Gateway::Impl::mark_dirty(std::uint64_t id) {
  const auto found = connections.find(id);
  if (found == connections.end() || found->second->is_dirty) return;
  found->second->is_dirty = true;
  dirty.push_back(id);
}

void Gateway::Impl::refuse(Connection& client, std::uint64_t number, const Error& error,
                           std::uint32_t retry_ms) {
  answer(client, refusal(number, error, retry_ms));
}

void Gateway::Impl::answer(Connection& client, std::string_view response) {
  client.queue(response);
  mark_dirty(client.id());
}

void Gateway::Impl::set_events(Connection& client) const {
  std::uint32_t events = 0;
  if (!client.has_waiting() && !client.closes_when_sent) events |= EPOLLIN;
  if (client.bytes_out() > 0) events |= EPOLLOUT;
  if (events == client.events) return;
  client.events = events;
  watch(client.fd(), client.id(), events, EPOLL_CTL_MOD);
}

void Gateway::Impl::flush_dirty() {
  std::vector<std::uint64_t> now;
  now.swap(dirty);
  for (const std::uint64_t id : now) {
    const auto found = connections.find(id);
    if (found == connections.end()) continue;
    Connection& client = *found->second;
    client.is_dirty = false;
    const bool is_there = client.write_some(now_ms);
    if (!is_there || (client.closes_when_sent && client.bytes_out() == 0)) {
      drop(id, "");
      continue;
    }
    if (client.bytes_out() > options.limits.bytes_out_per_connection_max) {
      drop(id, "it does not read its answers");
      continue;
    }
    forward_waiting(client);
    set_events(client);
  }
}

std::size_t Gateway::Impl::bytes_of(Uid uid, bool in) const {
  std::size_t sum = 0;
  for (const auto& [id, client] : connections) {
    if (client->who().uid == uid) sum += in ? client->bytes_in() : client->bytes_out();
  }
  return sum;
}

// ---- the controller ----

void Gateway::Impl::follow_link() {
  const bool connected = controller->connected();
  if (was_connected && (!connected || controller->incarnation() != incarnation)) {
    log_warn("gateway: lost the controller at {}: {}", options.controller,
             controller->last_problem());
    fail_outstanding();
  }
  if (connected && controller->incarnation() != incarnation) {
    log_info("gateway: connected to the controller at {}", options.controller);
  }
  was_connected = connected;
  incarnation = controller->incarnation();
}

// Whether they were done nobody here knows: their senders ask again under the same request ids.
void Gateway::Impl::fail_outstanding() {
  const Error lost = fail(ErrorCode::kUnavailable, "the connection to the controller was lost");
  for (auto& [id, client] : connections) {
    while (!client->outstanding.empty()) {
      const std::uint64_t number = client->outstanding.begin()->first;
      refuse(*client, number, lost, kLostRetryMs);
      settle(*client, number);
    }
  }
}

void Gateway::Impl::take_answers() {
  for (int i = 0; i < kAnswersPerTurn; ++i) {
    const auto bytes = controller->receive();
    if (!bytes) return;
    take(*bytes);
  }
}

void Gateway::Impl::take(const std::string& bytes) {
  const auto stamped = decode<StampedResponse>(bytes);
  if (!stamped) {
    log_rarely("gateway: the controller sent " + stamped.error().message);
    return;
  }
  const auto found = connections.find(stamped->connection);
  if (found == connections.end()) return;
  Connection& client = *found->second;
  if (!stamped->response.empty()) {
    const auto head = peek_response(stamped->response);
    if (!head || stamped->response.size() > kMessageBytesMax) {
      log_rarely("gateway: the controller sent an answer that is none");
      return;
    }
    if (client.outstanding.count(head->number) == 0) return;  // Answered as lost already.
    if (!head->more) settle(client, head->number);
    answer(client, stamped->response);
  }
  if (!stamped->close) return;
  client.closes_when_sent = true;
  answer(client, refusal(0, fail(ErrorCode::kUnavailable, "the controller ended the connection"),
                         kLostRetryMs));
}

// ---- time ----

void Gateway::Impl::sweep() {
  if (now_ms < swept_ms + kSweepMs) return;
  swept_ms = now_ms;
  if (!is_accepting) {
    watch(listener.fd(), kListenerTag, EPOLLIN, EPOLL_CTL_MOD);
    is_accepting = true;
  }
  std::unordered_map<std::uint32_t, std::size_t> bytes_out;
  std::vector<std::uint64_t> stuck;
  for (const auto& [id, client] : connections) {
    std::size_t& sum = bytes_out[client->who().uid.value];
    sum += client->bytes_out();
    const std::int64_t since = client->stuck_since_ms();
    const bool is_stuck = since != 0 && now_ms - since > options.limits.stuck_max.ms();
    const bool is_over = client->bytes_out() > 0 && sum > options.limits.bytes_out_per_uid_max;
    if (is_stuck || is_over) stuck.push_back(id);
  }
  for (const std::uint64_t id : stuck) drop(id, "it does not read its answers");
}

Gateway::Gateway(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gateway::~Gateway() = default;

Result<std::unique_ptr<Gateway>> Gateway::open(const GatewayOptions& options) {
  auto listener = Listener::open(options.socket, options.socket_mode);
  if (!listener) return listener.error();
  auto impl = std::make_unique<Impl>(options, std::move(*listener));
  ClientOptions link;
  link.endpoint = options.controller;
  link.server_key = options.server_key;
  link.key = options.key;
  link.reconnect_max_ms = 2000;
  auto controller = ClientSocket::open(impl->context, link);
  if (!controller) return controller.error();
  impl->controller = std::move(*controller);
  impl->epoll = epoll_create1(EPOLL_CLOEXEC);
  MUSTER_ASSERT(impl->epoll >= 0);
  impl->watch(impl->listener.fd(), kListenerTag, EPOLLIN, EPOLL_CTL_ADD);
  impl->watch(impl->controller->fd(), kLinkTag, EPOLLIN, EPOLL_CTL_ADD);
  return std::unique_ptr<Gateway>(new Gateway(std::move(impl)));
}

void Gateway::turn(int timeout_ms) {
  Impl& my = *impl_;
  std::array<epoll_event, kEventsPerTurn> events{};
  const bool has_input = my.controller->has_input();
  my.follow_link();
  const int tick_ms = my.controller->wants_tick() ? kBusyTickMs : kTickMs;
  const int wait_ms = has_input || !my.dirty.empty() ? 0 : std::min(timeout_ms, tick_ms);
  const int n = epoll_wait(my.epoll, events.data(), kEventsPerTurn, wait_ms);
  my.now_ms = clock_ms();
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const std::uint64_t tag = event.data.u64;  // epoll_event is packed: nothing may refer into it.
    if (tag == kListenerTag) {
      my.accept_all();
    } else if (tag >= kFirstConnection) {
      const auto found = my.connections.find(tag);
      if (found != my.connections.end()) my.serve(*found->second, event.events);
    }
  }
  my.controller->has_input();
  my.follow_link();
  my.take_answers();
  my.flush_dirty();
  my.sweep();
}

void Gateway::wake_on(int fd) { impl_->watch(fd, kWakeTag, EPOLLIN, EPOLL_CTL_ADD); }

bool Gateway::is_connected() const { return impl_->controller->connected(); }

GatewayCounts Gateway::counts() const {
  GatewayCounts counts = impl_->counts;
  counts.connections = impl_->connections.size();
  return counts;
}

}  // namespace muster
