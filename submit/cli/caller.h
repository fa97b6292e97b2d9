// The controller as commands see it: typed questions and answers over submit/client.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/message/codec.h"
#include "base/message/request.h"
#include "base/types/result.h"
#include "submit/cli/command.h"
#include "submit/client/client.h"

namespace muster {

// For verbs without a body.
struct NoBody {
  template <class Self, class V>
  static void fields(Self&, V&) {}
};

// For one thread. Waits up to --timeout for a controller that is away, and says so on standard
// error.
class Caller {
 public:
  explicit Caller(const Invocation& call);

  // A verb that changes something carries one request id through every retry: the one given, or a
  // new one.
  template <class Reply, class Body>
  Result<Reply> ask(Verb verb, const Body& body, std::optional<Uuid> request_id = std::nullopt) {
    CallOptions options;
    options.request_id = request_id;
    return client_.ask<Reply>(verb, body, options);
  }

  // A question whose answer does not matter.
  template <class Body>
  void tell(Verb verb, const Body& body) {
    (void)client_.call(verb, encode(body));
  }

  // A list of jobs, a page at a time; the first page after a lost connection begins it anew.
  Result<void> list(JobsBody body,
                    const std::function<void(const JobsReply&, bool first)>& on_page);

  // on_reply: one answer, and whether it is the first after a (re)connection; false ends the watch.
  Result<void> watch(const JobsBody& body,
                     const std::function<bool(const WatchReply&, bool first)>& on_reply);

 private:
  Client client_;
};

}  // namespace muster
