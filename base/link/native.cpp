// The parts of libzmq that more than one file here needs; contexts.
#include "base/link/native.h"

#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cstring>

#include "base/link/link.h"

namespace muster {

LinkContext::LinkContext(int io_threads) : native_(zmq_ctx_new()) {
  MUSTER_ASSERT(native_ != nullptr);
  zmq_ctx_set(native_, ZMQ_IO_THREADS, io_threads);
  zmq_ctx_set(native_, ZMQ_MAX_SOCKETS, 65000);  // Three for each client socket.
  zmq_ctx_set(native_, ZMQ_BLOCKY, 0);
}

LinkContext::~LinkContext() {
  while (zmq_ctx_term(native_) != 0 && zmq_errno() == EINTR) continue;
}

namespace link {

void set_option(void* socket, int option, int value) {
  MUSTER_ASSERT(zmq_setsockopt(socket, option, &value, sizeof value) == 0);
}

void set_option(void* socket, int option, std::string_view value) {
  MUSTER_ASSERT(zmq_setsockopt(socket, option, value.data(), value.size()) == 0);
}

void set_common_options(void* socket) {
  const std::int64_t frame_bytes_max = kLinkFrameBytesMax;
  MUSTER_ASSERT(zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_bytes_max, sizeof frame_bytes_max) ==
                0);
  set_option(socket, ZMQ_SNDHWM, kLinkPartsQueued);
  set_option(socket, ZMQ_RCVHWM, kLinkPartsQueued);
  set_option(socket, ZMQ_HANDSHAKE_IVL, 2000);
  set_option(socket, ZMQ_HEARTBEAT_IVL, 2000);
  set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, 6000);
  set_option(socket, ZMQ_TCP_KEEPALIVE, 1);
  set_option(socket, ZMQ_TCP_KEEPALIVE_IDLE, 30);
  set_option(socket, ZMQ_TCP_KEEPALIVE_INTVL, 10);
  set_option(socket, ZMQ_TCP_KEEPALIVE_CNT, 3);
  set_option(socket, ZMQ_IMMEDIATE, 1);
  set_option(socket, ZMQ_LINGER, 500);
}

std::string zmq_problem() { return zmq_strerror(zmq_errno()); }

std::string join_user_id(std::string_view user_id, std::string_view public_key) {
  return std::string(user_id) + " " + std::string(public_key);
}

std::optional<SplitUserId> split_user_id(std::string_view joined) {
  const std::size_t space = joined.find(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  return SplitUserId{joined.substr(0, space), joined.substr(space + 1)};
}

Monitor::Monitor(void* context, void* socket, int events) : socket_(socket) {
  static std::atomic<std::uint64_t> count{0};
  const std::string endpoint = "inproc://monitor-" + std::to_string(count.fetch_add(1));
  if (zmq_socket_monitor(socket, endpoint.c_str(), events) != 0) return;
  pair_ = zmq_socket(context, ZMQ_PAIR);
  if (pair_ == nullptr) return;
  set_option(pair_, ZMQ_RCVHWM, 0);
  set_option(pair_, ZMQ_LINGER, 0);
  MUSTER_ASSERT(zmq_connect(pair_, endpoint.c_str()) == 0);
}

Monitor::~Monitor() {
  zmq_socket_monitor(socket_, nullptr, 0);
  if (pair_ != nullptr) zmq_close(pair_);
}

std::optional<MonitorEvent> Monitor::next() {
  if (pair_ == nullptr) return std::nullopt;
  std::array<char, 6> head{};
  const int size = zmq_recv(pair_, head.data(), head.size(), ZMQ_DONTWAIT);
  if (size != 6) return std::nullopt;
  std::array<char, 256> endpoint{};
  zmq_recv(pair_, endpoint.data(), endpoint.size(), ZMQ_DONTWAIT);  // Cut when longer; not needed.
  std::uint16_t kind = 0;
  MonitorEvent event;
  std::memcpy(&kind, head.data(), sizeof kind);
  std::memcpy(&event.value, head.data() + sizeof kind, sizeof event.value);
  event.kind = kind;
  return event;
}

int Monitor::fd() const { return native_fd(pair_); }

int native_fd(void* socket) {
  int fd = -1;
  std::size_t size = sizeof fd;
  MUSTER_ASSERT(zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0);
  return fd;
}

bool readable(void* socket) {
  int events = 0;
  std::size_t size = sizeof events;
  while (zmq_getsockopt(socket, ZMQ_EVENTS, &events, &size) != 0) {
    if (zmq_errno() != EINTR) return false;
  }
  return (events & ZMQ_POLLIN) != 0;
}

FdSet::FdSet() : fd_(epoll_create1(EPOLL_CLOEXEC)) { MUSTER_ASSERT(fd_ >= 0); }
FdSet::~FdSet() { close(fd_); }

void FdSet::add(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  MUSTER_ASSERT(epoll_ctl(fd_, EPOLL_CTL_ADD, fd, &event) == 0);
}

void FdSet::remove(int fd) { epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr); }

std::int64_t clock_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

}  // namespace link
}  // namespace muster
