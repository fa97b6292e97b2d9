// The worker's side of enrolment.
#include "worker/host/enrol.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/codec.h"
#include "base/message/worker.h"
#include "base/order/fd.h"
#include "base/order/signing.h"
#include "base/types/text.h"
#include "worker/host/boot_clock.h"

namespace muster {
namespace {

Result<EnrolAnswer> ask(ClientSocket& socket, const EnrolAsk& request, Duration timeout) {
  Poller poller;
  poller.watch(socket);
  const Instant until = boot_now() + timeout;
  bool asked = false;
  while (boot_now() < until) {
    if (!asked && socket.connected()) asked = socket.send(encode(request)).ok();
    if (const std::optional<std::string> payload = socket.receive())
      return decode<EnrolAnswer>(*payload);
    poller.wait(100);
  }
  const std::string why = socket.last_problem();
  return fail(ErrorCode::kUnavailable, "enrol: no answer from the controller within " +
                                           to_text(timeout) + (why.empty() ? "" : ": " + why) +
                                           "; check address and server key");
}

// The file "cluster UUID / key ID HEX" that a launcher pins, read back to be sure that it can.
Result<std::string> pinned_text(const EnrolAnswer& answer) {
  const std::string text = "cluster " + answer.cluster_id + "\nkey " + answer.order_key_id + " " +
                           answer.order_public_key + "\n";
  const Result<PinnedKeys> keys = parse_pinned_keys(text);
  if (!keys)
    return fail(ErrorCode::kInvalid,
                "enrol: the controller's answer makes no sense: " + keys.error().message);
  return pinned_keys_text(*keys);
}

Result<void> replace_file(const std::string& path, const std::string& text) {
  const auto broken = [&] {
    return fail(ErrorCode::kUnavailable, path + ": " + std::strerror(errno));
  };
  const std::string draft = path + ".tmp";
  {
    const Fd file(
        ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file.is_open() || ::fchmod(file.number(), 0644) != 0) return broken();
    if (::write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      return broken();
    if (::fsync(file.number()) != 0) return broken();
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) return broken();
  return {};
}

}  // namespace

Result<void> enrol(const EnrolOptions& options) {
  const Result<void> name = check_name(options.node);
  if (!name) return fail(ErrorCode::kInvalid, "node: " + name.error().message);
  const Result<std::string> server_key = public_key_from(options.server_key);
  if (!server_key) return fail(ErrorCode::kInvalid, "server key: " + server_key.error().message);
  const Result<KeyPair> key = load_or_make_key(options.key_file);
  if (!key) return key.error();
  LinkContext context;
  ClientOptions client;
  client.endpoint = options.endpoint;
  client.server_key = *server_key;
  client.key = *key;
  const Result<std::unique_ptr<ClientSocket>> socket = ClientSocket::open(context, client);
  if (!socket) return socket.error();
  const Result<EnrolAnswer> answer =
      ask(**socket, {options.node, options.token, key->public_key}, options.timeout);
  if (!answer) return answer.error();
  if (!answer->error.empty()) return fail(ErrorCode::kConflict, "enrol: refused: " + answer->error);
  const Result<std::string> text = pinned_text(*answer);
  if (!text) return text.error();
  return replace_file(options.order_keys, *text);
}

}  // namespace muster
