// The ZAP handler (RFC 27): a thread that says yes or no to the key of every handshake of a
// context.
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <thread>

#include "base/link/authenticator_impl.h"
#include "base/link/link.h"
#include "base/link/native.h"
#include "base/types/text.h"

namespace muster {
namespace {

constexpr std::size_t kZapFramesMax = 16;
constexpr std::size_t kZapFrameBytesMax = 512;
constexpr std::size_t kCurveKeyBytes = 32;

struct ZapRequest {
  std::vector<std::string> frames;
  bool overlong = false;
};

// One whole request; false when there is none.
bool read_request(void* socket, ZapRequest& request) {
  std::array<char, kZapFrameBytesMax> frame{};
  for (int more = 1; more != 0;) {
    const int size = zmq_recv(socket, frame.data(), frame.size(), ZMQ_DONTWAIT);
    if (size < 0) return false;
    const auto taken = static_cast<std::size_t>(size);
    if (taken > frame.size() || request.frames.size() == kZapFramesMax) {
      request.overlong = true;
    } else {
      request.frames.emplace_back(frame.data(), taken);
    }
    std::size_t more_size = sizeof more;
    if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &more_size) != 0) return false;
  }
  return true;
}

void send_frame(void* socket, std::string_view bytes, int flags) {
  zmq_send(socket, bytes.data(), bytes.size(), ZMQ_DONTWAIT | flags);
}

struct Verdict {
  std::string user_id;  // Empty: refused.
  std::string problem;
};

std::string key_text(const std::string& bytes) {
  std::array<char, kKeyTextBytes + 1> text{};
  zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return text.data();
}

// Frames: version, request id, domain, address, routing id, mechanism, credentials.
Verdict judge(const ZapRequest& request, const AccessList& access) {
  const auto& frames = request.frames;
  if (request.overlong || frames.size() < 6 || frames[0] != "1.0") return {"", "bad ZAP request"};
  const std::string who = " from " + escape_for_terminal(frames[3]) + " on the " +
                          escape_for_terminal(frames[2]) + " port";
  if (frames[5] != "CURVE" || frames.size() != 7 || frames[6].size() != kCurveKeyBytes) {
    return {"", "mechanism " + escape_for_terminal(frames[5]) + who};
  }
  const std::string key = key_text(frames[6]);
  LinkRole domain{};
  if (!enum_from_name(frames[2], domain)) return {"", "key " + key + who + ": no such domain"};
  const auto entry = access.admit(key, domain);
  if (!entry) return {"", "key " + key + who + ": not on its list"};
  return {link::join_user_id(entry->user_id, key), ""};
}

void reply(void* socket, const ZapRequest& request, const Verdict& verdict) {
  const bool yes = !verdict.user_id.empty();
  send_frame(socket, "1.0", ZMQ_SNDMORE);
  send_frame(socket, request.frames.size() > 1 ? request.frames[1] : "", ZMQ_SNDMORE);
  send_frame(socket, yes ? "200" : "400", ZMQ_SNDMORE);
  send_frame(socket, yes ? "OK" : "refused", ZMQ_SNDMORE);
  send_frame(socket, verdict.user_id, ZMQ_SNDMORE);
  send_frame(socket, "", 0);
}

// At most one line a second.
class RateLimitedLog {
 public:
  explicit RateLimitedLog(Authenticator::Log log) : log_(std::move(log)) {}
  void write(const std::string& line) {
    const std::int64_t now = link::clock_ms();
    if (now < next_at_) {
      ++left_out_;
      return;
    }
    next_at_ = now + 1000;
    const std::string others =
        left_out_ == 0 ? "" : " (and " + std::to_string(left_out_) + " more since the last line)";
    left_out_ = 0;
    if (log_) log_("link: refused " + line + others);
  }

 private:
  Authenticator::Log log_;
  std::int64_t next_at_ = 0;
  std::uint64_t left_out_ = 0;
};

void serve(void* socket, int stop_fd, const AccessList& access, Authenticator::Log log,
           std::atomic<std::uint64_t>& refused) {
  RateLimitedLog lines(std::move(log));
  for (;;) {
    std::array<zmq_pollitem_t, 2> items{};
    items[0].socket = socket;
    items[0].events = ZMQ_POLLIN;
    items[1].fd = stop_fd;
    items[1].events = ZMQ_POLLIN;
    if (zmq_poll(items.data(), 2, -1) < 0 && zmq_errno() != EINTR) return;
    if (items[1].revents != 0) return;
    ZapRequest request;
    while (read_request(socket, request)) {
      const Verdict verdict = judge(request, access);
      if (verdict.user_id.empty()) {
        refused.fetch_add(1);
        lines.write(verdict.problem);
      }
      reply(socket, request, verdict);
      request = {};
    }
  }
}

}  // namespace

Authenticator::Authenticator(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Authenticator::~Authenticator() {
  const std::uint64_t one = 1;
  MUSTER_ASSERT(write(impl_->stop_fd, &one, sizeof one) == sizeof one);
  impl_->thread.join();
  zmq_close(impl_->socket);
  close(impl_->stop_fd);
}

Result<std::unique_ptr<Authenticator>> Authenticator::start(LinkContext& context,
                                                            const AccessList& access, Log log) {
  void* socket = zmq_socket(context.native(), ZMQ_REP);
  MUSTER_ASSERT(socket != nullptr);
  link::set_option(socket, ZMQ_LINGER, 0);
  link::set_option(socket, ZMQ_RCVHWM, 0);
  link::set_option(socket, ZMQ_SNDHWM, 0);
  if (zmq_bind(socket, link::kZapEndpoint) != 0) {
    const Error error = fail(ErrorCode::kConflict, "link: ZAP handler: " + link::zmq_problem());
    zmq_close(socket);
    return error;
  }
  auto impl = std::make_unique<Impl>();
  impl->context = context.native();
  impl->access = &access;
  impl->socket = socket;
  impl->stop_fd = eventfd(0, EFD_CLOEXEC);
  MUSTER_ASSERT(impl->stop_fd >= 0);
  impl->thread = std::thread(serve, socket, impl->stop_fd, std::cref(access), std::move(log),
                             std::ref(impl->refused));
  return std::unique_ptr<Authenticator>(new Authenticator(std::move(impl)));
}

std::uint64_t Authenticator::refused() const { return impl_->refused.load(); }

}  // namespace muster
