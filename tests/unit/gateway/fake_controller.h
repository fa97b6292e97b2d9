// A controller that answers what a test tells it to, behind a real gateway, each in a thread.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"
#include "base/message/codec.h"
#include "base/message/request.h"
#include "submit/gateway/gateway.h"
#include "tests/support/wait.h"

namespace muster {

class FakeController {
 public:
  // Zero or more responses to one request; their numbers are filled in.
  using Answer =
      std::function<std::vector<Response>(const StampedRequest& stamped, const Request& request)>;

  FakeController(const KeyPair& key, const std::string& gateway_key, const std::string& endpoint,
                 Answer answer)
      : answer_(std::move(answer)) {
    access_.add(gateway_key, {"gateway:g1", LinkRole::kGateway});
    authenticator_ = std::move(*Authenticator::start(context_, access_, nullptr));
    ServerOptions options;
    options.endpoint = endpoint;
    options.domain = LinkRole::kGateway;
    options.key = key;
    EXPECT_TRUE(wait_until([&] {
      auto opened = ServerSocket::open(*authenticator_, options);
      if (opened) socket_ = std::move(*opened);
      return socket_ != nullptr;
    }));
    endpoint_ = socket_->endpoint();
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeController() {
    stop_.store(true);
    wake_.wake();
    thread_.join();
  }
  FakeController(const FakeController&) = delete;
  FakeController& operator=(const FakeController&) = delete;

  const std::string& endpoint() const { return endpoint_; }
  std::vector<StampedRequest> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::size_t closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  void serve() {
    Poller poller;
    poller.watch(*socket_);
    poller.watch_fd(wake_.fd());
    while (!stop_.load()) {
      poller.wait(100);
      while (auto inbound = socket_->receive()) take(*inbound);
    }
  }
  void take(const Inbound& inbound) {
    EXPECT_EQ(inbound.user_id, "gateway:g1");
    auto stamped = decode<StampedRequest>(inbound.payload);
    ASSERT_TRUE(stamped.ok());
    if (stamped->closed) {
      const std::lock_guard lock(mutex_);
      ++closed_;
      return;
    }
    const auto request = decode<Request>(stamped->request);
    if (!request) return;  // Garbage in its body: no concern of these tests.
    for (Response& response : answer_(*stamped, *request)) {
      response.number = request->number;
      StampedResponse out;
      out.connection = stamped->connection;
      out.response = encode(response);
      EXPECT_TRUE(socket_->send(inbound.peer, encode(out)).ok());
    }
    stamped->request.clear();
    const std::lock_guard lock(mutex_);
    if (seen_.size() < 100000) seen_.push_back(std::move(*stamped));
  }

  Answer answer_;
  AccessList access_;
  LinkContext context_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<ServerSocket> socket_;
  std::string endpoint_;
  WakeUp wake_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::vector<StampedRequest> seen_;
  std::size_t closed_ = 0;
  std::thread thread_;
};

class GatewayTest : public ::testing::Test {
 protected:
  GatewayTest() {
    char pattern[] = "/tmp/muster-gateway-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ + "/gateway.sock";
  }
  ~GatewayTest() override {
    stop_gateway();
    controller_.reset();
    std::filesystem::remove_all(folder_);
  }

  void start_controller(FakeController::Answer answer) {
    controller_ = std::make_unique<FakeController>(server_key_, gateway_key_.public_key, endpoint_,
                                                   std::move(answer));
    endpoint_ = controller_->endpoint();
  }

  void start_gateway() {
    GatewayOptions options;
    options.socket = path_;
    options.controller = endpoint_;
    options.server_key = server_key_.public_key;
    options.key = gateway_key_;
    options.limits = limits_;
    auto opened = Gateway::open(options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    gateway_ = std::move(*opened);
    stop_.store(false);
    thread_ = std::thread([this] {
      while (!stop_.load()) {
        gateway_->turn(50);
        connected_.store(gateway_->is_connected());
        const std::lock_guard lock(mutex_);
        counts_ = gateway_->counts();
      }
    });
  }

  void stop_gateway() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
    gateway_.reset();
  }

  bool wait_connected() {
    return eventually([&] { return connected_.load(); });
  }

  template <class Done>
  bool eventually(Done done, int ms = 5000) {
    return wait_until(done, std::chrono::milliseconds(ms));
  }

  GatewayCounts counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  static std::vector<Response> echo(const StampedRequest&, const Request& request) {
    Response response;
    response.body = request.body;
    response.seq = {42};
    return {response};
  }

  int raw_connect() {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      close(fd);
      return -1;
    }
    return fd;
  }

  std::string folder_;
  std::string path_;
  std::string endpoint_ = "tcp://127.0.0.1:*";
  KeyPair server_key_ = make_key_pair();
  KeyPair gateway_key_ = make_key_pair();
  GatewayLimits limits_;
  std::unique_ptr<FakeController> controller_;
  std::unique_ptr<Gateway> gateway_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> connected_{false};
  std::mutex mutex_;
  GatewayCounts counts_;
  std::thread thread_;
};

}  // namespace muster
