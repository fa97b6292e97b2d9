// Pull, forward, answer.
#include "controller/host/log_relay.h"

#include <algorithm>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "controller/host/clock.h"
#include "controller/host/listing.h"

namespace muster {

namespace {

constexpr std::string_view kNodePrefix = "node:";
constexpr std::size_t kRequestsQueuedMax = 20000;

std::string name_of_node(NodeId id, const ViewState& state) {
  const NodeView* node = state.nodes.find(id.value);
  return node == nullptr ? "" : node->node->name;
}

}  // namespace

LogRelay::LogRelay(std::unique_ptr<ServerSocket> socket, const View& view, Respond respond)
    : socket_(std::move(socket)), view_(view), respond_(std::move(respond)) {}

LogRelay::~LogRelay() { stop(); }

void LogRelay::start() {
  thread_ = std::thread([this] { run(); });
}

void LogRelay::stop() {
  stopping_ = true;
  wake_.wake();
  if (thread_.joinable()) thread_.join();
}

void LogRelay::take(const Caller& caller, Request request) {
  {
    const std::lock_guard lock(mutex_);
    if (queued_.size() < kRequestsQueuedMax) {
      queued_.emplace_back(caller, std::move(request));
      wake_.wake();
      return;
    }
  }
  respond_(caller,
           refusal(caller, fail(ErrorCode::kLimit, "logs: the controller is busy; retry"), 500));
}

void LogRelay::drop(const PeerId& peer, std::uint64_t connection) {
  {
    const std::lock_guard lock(mutex_);
    gone_.push_back({peer, connection});
  }
  wake_.wake();
}

void LogRelay::run() {
  Poller poller;
  poller.watch(*socket_);
  poller.watch_fd(wake_.fd());
  while (!stopping_) {
    poller.wait(1000);
    wake_.clear();
    for (int i = 0; i < 256; ++i) {
      auto inbound = socket_->receive();
      if (!inbound.has_value()) break;
      take_answer(*inbound);
    }
    take_queued();
    const Instant now = boottime();
    if (now - expired_at_ < seconds(1)) continue;
    expired_at_ = now;
    expire();
  }
}

void LogRelay::take_queued() {
  std::vector<std::pair<Caller, Request>> requests;
  std::vector<Gone> gone;
  {
    const std::lock_guard lock(mutex_);
    requests.swap(queued_);
    gone.swap(gone_);
  }
  for (const Gone& client : gone) {
    std::erase_if(handles_, [&](const auto& entry) {
      return entry.second.owner.peer == client.peer &&
             entry.second.owner.connection == client.connection;
    });
  }
  for (const auto& [caller, request] : requests) {
    if (request.verb == Verb::kLogOpen) {
      open(caller, request);
    } else if (request.verb == Verb::kLogRead) {
      read(caller, request);
    } else if (const auto body = decode<LogCloseBody>(request.body)) {
      const auto handle = handles_.find(body->handle);
      if (handle != handles_.end() && handle->second.owner.who.uid == caller.who.uid)
        handles_.erase(handle);
      respond_(caller, answer(caller, {}, {}));
    }
  }
}

Result<LogRelay::Handle> LogRelay::resolve(const Caller& caller, const LogOpenBody& body) {
  const auto state = view_.state();
  const std::string name = std::to_string(body.job.job.value);
  const JobView* job = state->jobs.find(body.job.job.value);
  if (job == nullptr) return fail(ErrorCode::kNotFound, "no job " + name + " is in the queue");
  if (caller.who.role == Role::kUser && caller.who.uid != job->job.facts().uid()) {
    return fail(ErrorCode::kConflict,
                "the log of job " + name + " belongs to " + job->job.facts().user());
  }
  const Element element = body.job.element.value_or(
      job->job.is_array() ? element_at(job->job.facts().terms->array, 0) : Element{});
  Handle handle;
  handle.owner = caller;
  handle.rank = body.rank;
  handle.errors = body.errors;
  std::vector<NodeId> nodes;
  std::uint32_t attempt = 0;
  const std::optional<AttemptSummary> last = job->job.last_attempt(element);
  const AttemptView* live = live_attempt(*job, element);
  if (live != nullptr && (body.attempt == 0 || body.attempt == live->key.attempt.value)) {
    attempt = live->key.attempt.value;
    for (const Member& member : live->place->members) {
      nodes.push_back(member.node);
      const bool holds_rank =
          body.rank >= 0 && static_cast<std::uint32_t>(body.rank) >= member.rank_first &&
          static_cast<std::uint32_t>(body.rank) < member.rank_first + member.tasks;
      if (holds_rank) handle.node = name_of_node(member.node, *state);
    }
  } else if (last && (body.attempt == 0 || body.attempt == last->attempt.value)) {
    attempt = last->attempt.value;
    nodes = last->nodes;
    const auto at = body.rank < 0 ? std::nullopt
                                  : node_of_rank(job->job.facts().groups(), nodes.size(),
                                                 static_cast<std::uint32_t>(body.rank));
    if (at) handle.node = name_of_node(nodes[*at], *state);
  }
  if (nodes.empty()) {
    return fail(ErrorCode::kNotFound, "job " + name +
                                          " has not run yet, so it has no log; 'gpuqueue --why " +
                                          name + "' says what it waits for");
  }
  handle.key = {body.job.job, element, AttemptNo{attempt}};
  if (!body.node.empty()) handle.node = body.node;
  if (handle.node.empty()) handle.node = name_of_node(nodes.front(), *state);
  const bool is_member = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return name_of_node(id, *state) == handle.node;
  });
  if (!is_member) {
    return fail(ErrorCode::kNotFound, "job " + name + " did not run on '" + handle.node +
                                          "' but on " + node_list(nodes, *state));
  }
  return handle;
}

void LogRelay::open(const Caller& caller, const Request& request) {
  const auto body = decode<LogOpenBody>(request.body);
  if (!body) return refuse(caller, body.error().code, body.error().message);
  const auto mine = std::count_if(handles_.begin(), handles_.end(), [&](const auto& entry) {
    return entry.second.owner.who.uid == caller.who.uid;
  });
  if (handles_.size() >= kLogHandlesMax || static_cast<std::size_t>(mine) >= kLogHandlesPerUidMax) {
    return refuse(caller, ErrorCode::kLimit, "logs: too many are open; close some and retry");
  }
  auto handle = resolve(caller, *body);
  if (!handle) return refuse(caller, handle.error().code, handle.error().message);
  handle->used_at = boottime();
  const std::uint64_t id = ++number_last_;
  handles_[id] = *handle;
  LogReadBody nothing;
  nothing.offset = body->offset;
  ask(*handle, nothing, {caller, id, true, boottime()});
}

void LogRelay::read(const Caller& caller, const Request& request) {
  const auto body = decode<LogReadBody>(request.body);
  if (!body) return refuse(caller, body.error().code, body.error().message);
  const auto found = handles_.find(body->handle);
  if (found == handles_.end() || found->second.owner.who.uid != caller.who.uid) {
    return refuse(caller, ErrorCode::kNotFound,
                  "logs: this log is not open any more; open it again");
  }
  found->second.used_at = boottime();
  ask(found->second, *body, {caller, body->handle, false, boottime()});
}

void LogRelay::ask(const Handle& handle, const LogReadBody& body, Pending pending) {
  const auto route = routes_.find(handle.node);
  if (route == routes_.end()) return park(body, std::move(pending));
  LogAsk ask;
  ask.number = ++number_last_;
  ask.key = handle.key;
  ask.rank = handle.rank;
  ask.errors = handle.errors;
  ask.offset = body.offset;
  ask.bytes_max = std::min(body.bytes_max, kLogReadBytesMax);
  ask.wait_ms = std::min(body.wait_ms, kLogWaitMsMax);
  const auto sent = socket_->send(route->second, encode(ask));
  if (!sent) {
    routes_.erase(route);
    return park(body, std::move(pending));
  }
  pending_[ask.number] = std::move(pending);
}

void LogRelay::park(const LogReadBody& body, Pending pending) {
  if (parked_.size() >= kLogHandlesMax) {
    return refuse(pending.caller, ErrorCode::kUnavailable,
                  "logs: the node is not connected; retry");
  }
  const std::uint64_t handle = pending.handle;
  parked_.push_back({handle, body, std::move(pending)});
}

void LogRelay::ask_parked(const std::string& node) {
  std::vector<Parked> parked;
  parked.swap(parked_);
  for (Parked& one : parked) {
    const auto handle = handles_.find(one.handle);
    if (handle == handles_.end()) continue;  // Its reader is gone.
    if (handle->second.node == node) {
      ask(handle->second, one.body, std::move(one.pending));
    } else {
      parked_.push_back(std::move(one));
    }
  }
}

void LogRelay::take_answer(const Inbound& inbound) {
  if (!inbound.user_id.starts_with(kNodePrefix)) return;
  const std::string node = inbound.user_id.substr(kNodePrefix.size());
  routes_[node] = inbound.peer;
  if (!parked_.empty()) ask_parked(node);
  auto log_answer = decode<LogAnswer>(inbound.payload);
  if (!log_answer || log_answer->number == 0) return;  // Number 0 says only "here I am".
  const auto found = pending_.find(log_answer->number);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  const auto handle = handles_.find(pending.handle);
  if (handle != handles_.end() && handle->second.node != node) return;  // Not asked of this node.
  pending_.erase(found);
  if (!log_answer->error.empty())
    return refuse(pending.caller, ErrorCode::kNotFound, "logs: " + log_answer->error);
  if (pending.opening) {
    LogOpenReply reply{pending.handle, node, log_answer->path,
                       handle == handles_.end() ? AttemptKey{} : handle->second.key};
    return respond_(pending.caller, answer(pending.caller, {}, encode(reply)));
  }
  LogReadReply reply{log_answer->offset, std::move(log_answer->data), log_answer->end};
  respond_(pending.caller, answer(pending.caller, {}, encode(reply)));
}

void LogRelay::refuse(const Caller& caller, ErrorCode code, const std::string& message) {
  respond_(caller, refusal(caller, fail(code, message), code == ErrorCode::kUnavailable ? 500 : 0));
}

void LogRelay::expire() {
  const Instant now = boottime();
  std::erase_if(handles_,
                [&](const auto& entry) { return now - entry.second.used_at > kLogHandleIdle; });
  std::erase_if(pending_, [&](const auto& entry) {
    if (now - entry.second.asked_at <= kLogAnswerPatience) return false;
    refuse(entry.second.caller, ErrorCode::kUnavailable,
           "logs: the node did not answer in time; retry");
    return true;
  });
  std::erase_if(parked_, [&](const Parked& parked) {
    if (now - parked.pending.asked_at <= kLogRoutePatience) return false;
    const auto handle = handles_.find(parked.handle);
    const std::string node = handle == handles_.end() ? "" : " " + handle->second.node;
    refuse(parked.pending.caller, ErrorCode::kUnavailable,
           "logs: node" + node + " is not connected; retry");
    return true;
  });
}

}  // namespace muster
