// Keeps the launcher's socket connected.
#include "worker/host/launcher_link.h"

#include <algorithm>
#include <utility>

#include "base/daemon/log.h"

namespace muster {
namespace {

constexpr Duration kRetryMin = milliseconds(50);
constexpr Duration kRetryMax = seconds(2);

}  // namespace

LauncherLink::LauncherLink(std::string path, std::string node)
    : path_(std::move(path)), node_(std::move(node)), patience_(kRetryMin) {}

LauncherLink::News LauncherLink::turn(Instant now) {
  News news;
  if (!channel_ && now >= retry_at_) connect(now);
  if (channel_) read(news, now);
  return news;
}

void LauncherLink::connect(Instant now) {
  Result<Fd> socket = connect_local(path_);
  if (!socket) return close(socket.error().message, now);
  channel_.emplace(*std::move(socket));
  greeted_ = broken_ = false;
  const Result<std::string> hello = encode_local(LocalHello{});
  MUSTER_ASSERT(hello.ok());
  const Result<void> sent = channel_->send(*hello);
  if (!sent) close(sent.error().message, now);
}

void LauncherLink::read(News& news, Instant now) {
  const bool was_up = greeted_;
  std::string failure = broken_ ? "it does not read what is sent" : "";
  const Result<void> flushed = channel_->flush();
  if (!flushed) failure = flushed.error().message;
  Result<std::vector<ReceivedFrame>> frames = channel_->receive();
  if (!frames) {
    failure = frames.error().message;
  } else {
    for (ReceivedFrame& frame : *frames) {
      if (greeted_) {
        news.frames.push_back(std::move(frame));
        continue;
      }
      const Result<void> greeted = greet(frame);
      if (!greeted) {
        failure = greeted.error().message;
        break;
      }
      news.came = true;
    }
  }
  if (failure.empty()) return;
  news.gone = was_up || news.came;
  close(failure, now);
}

Result<void> LauncherLink::greet(const ReceivedFrame& received) {
  const Result<LocalHello> hello = decode_local<LocalHello>(received.frame);
  if (!hello) return hello.error();
  const Result<std::uint16_t> version = agree_on_version(*hello);
  if (!version) return version.error();
  if (!hello->node.empty() && hello->node != node_) {
    return fail(ErrorCode::kConflict, "it answers for node " + hello->node + ", not for " + node_);
  }
  greeted_ = true;
  patience_ = kRetryMin;
  problem_.clear();
  log_info("launcher: connected at {}", path_);
  return {};
}

bool LauncherLink::send(std::string frame) {
  if (!greeted_ || broken_) return false;
  broken_ = !channel_->send(std::move(frame)).ok();
  return !broken_;
}

void LauncherLink::close(const std::string& why, Instant now) {
  if (why != problem_) log_warn("launcher: not connected: {}", why);
  problem_ = why;
  channel_.reset();
  greeted_ = broken_ = false;
  retry_at_ = now + patience_;
  patience_ = std::min(patience_ * 2, kRetryMax);
}

}  // namespace muster
