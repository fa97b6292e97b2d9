// One poll(2) over link sockets and descriptors, with libzmq's edge-triggered rule kept.
#include "base/link/poller.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/link/native.h"

namespace muster {
namespace {

constexpr int kTickMs = 200;
constexpr int kBusyTickMs = 5;
// More sockets than this are asked in turn only when their descriptor says so, and all of them
// every kAskAllMs.
constexpr std::size_t kFewSockets = 64;
constexpr int kAskAllMs = 50;

}  // namespace

WakeUp::WakeUp() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { MUSTER_ASSERT(fd_ >= 0); }
WakeUp::~WakeUp() { close(fd_); }

void WakeUp::wake() {
  const std::uint64_t one = 1;
  // Full means that it is readable already.
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof one);
}

void WakeUp::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(fd_, &count, sizeof count);
}

void Poller::watch(ServerSocket& socket) { servers_.push_back(&socket); }
void Poller::watch(ClientSocket& socket) { clients_.push_back(&socket); }
void Poller::watch_fd(int fd) { fds_[fd] = false; }
void Poller::forget(const ServerSocket& socket) { std::erase(servers_, &socket); }
void Poller::forget(const ClientSocket& socket) { std::erase(clients_, &socket); }
void Poller::forget_fd(int fd) { fds_.erase(fd); }

bool Poller::is_ready(int fd) const {
  const auto found = fds_.find(fd);
  return found != fds_.end() && found->second;
}

void Poller::gather() {
  items_.clear();
  for (const ServerSocket* server : servers_) items_.push_back({server->fd(), POLLIN, 0});
  for (const ClientSocket* client : clients_) items_.push_back({client->fd(), POLLIN, 0});
  for (const auto& [fd, ready] : fds_) items_.push_back({fd, POLLIN, 0});
}

int Poller::poll_all(int timeout_ms) {
  const int n = poll(items_.data(), items_.size(), timeout_ms);
  if (n > 0) return n;
  for (pollfd& item : items_) item.revents = 0;
  return n;
}

bool Poller::any_input() {
  const std::size_t sockets = servers_.size() + clients_.size();
  const std::int64_t now_ms = link::clock_ms();
  const bool all = sockets <= kFewSockets || now_ms >= asked_all_ms_ + kAskAllMs;
  if (all) asked_all_ms_ = now_ms;
  bool any = false;
  std::size_t at = 0;
  for (ServerSocket* server : servers_) {
    const bool ask = all || items_[at].revents != 0;
    any = (ask && server->has_input()) || any;
    ++at;
  }
  for (ClientSocket* client : clients_) {
    const bool ask = all || items_[at].revents != 0;
    any = (ask && client->has_input()) || any;
    ++at;
  }
  return any;
}

bool Poller::any_wants_tick() const {
  return std::any_of(servers_.begin(), servers_.end(), [](auto* s) { return s->wants_tick(); }) ||
         std::any_of(clients_.begin(), clients_.end(), [](auto* c) { return c->wants_tick(); });
}

void Poller::tick_all() {
  for (ServerSocket* server : servers_) server->tick();
  for (ClientSocket* client : clients_) client->tick();
}

void Poller::wait(int timeout_ms) {
  const std::int64_t begun = link::clock_ms();
  gather();
  const std::size_t sockets = servers_.size() + clients_.size();
  if (sockets > kFewSockets) poll_all(0);
  for (;;) {
    const bool input = any_input();
    const std::int64_t spent = link::clock_ms() - begun;
    std::int64_t wait_ms = any_wants_tick() ? kBusyTickMs : kTickMs;
    if (sockets > kFewSockets) wait_ms = std::min<std::int64_t>(wait_ms, kAskAllMs);
    if (timeout_ms >= 0) wait_ms = std::clamp<std::int64_t>(timeout_ms - spent, 0, wait_ms);
    const int n = poll_all(input ? 0 : static_cast<int>(wait_ms));
    bool ready = input || n < 0;
    std::size_t at = sockets;
    for (auto& [fd, is_readable] : fds_) {
      is_readable = items_[at++].revents != 0;
      ready = ready || is_readable;
    }
    if (n == 0 && sockets <= kFewSockets) tick_all();
    if (ready || (timeout_ms >= 0 && link::clock_ms() - begun >= timeout_ms)) return;
  }
}

}  // namespace muster
