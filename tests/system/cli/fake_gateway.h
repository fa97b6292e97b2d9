// A gateway for tests: speaks the framing on a Unix socket, hands each request to the test, sends
// what it returns.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/message/codec.h"
#include "base/message/request.h"

namespace muster {

struct Answer {
  std::vector<Response> responses;  // Their numbers are put in here.
  bool hang_up = false;             // Close the connection afterwards.
};

class FakeGateway {
 public:
  using Handler = std::function<Answer(const Request&)>;  // Called in the gateway's thread.
  explicit FakeGateway(Handler handler);
  ~FakeGateway();
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;

  const std::string& path() const { return path_; }
  std::vector<Request> requests() const;  // So far.
  // The body of the only request of that verb.
  template <class Body>
  Body body_of(Verb verb) const {
    for (const Request& request : requests()) {
      if (request.verb != verb) continue;
      auto body = decode<Body>(request.body);
      return body.ok() ? *body : Body{};
    }
    return {};
  }

 private:
  void accept_all();
  void serve(int fd);

  Handler handler_;
  std::string directory_;
  std::string path_;
  int listener_ = -1;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

template <class Body>
Answer good(const Body& body) {
  Response response;
  response.body = encode(body);
  return {{response}, false};
}
Answer bad(ErrorCode code, const std::string& error);
Answer hang_up();

struct Finished {
  int status = -1;
  std::string out;
  std::string err;
};
// Runs a command through /bin/sh with MUSTER_GATEWAY set and LC_ALL, TZ=UTC fixed. before is shell
// text to run first.
Finished run_command(const FakeGateway& gateway, const std::string& command,
                     const std::string& before = "");

// A directory of this test process, removed at its end.
const std::string& scratch();
void write_file(const std::string& path, const std::string& text);

}  // namespace muster
