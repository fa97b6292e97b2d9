// The client before no gateway, a late one, a lying one and a refusing one.
#include "submit/client/client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/message/frame.h"
#include "submit/client/exit_codes.h"
#include "tests/support/wait.h"

namespace muster {
namespace {

// Accepts connections one after the other and lets serve deal with each.
class FakeGateway {
 public:
  FakeGateway(const std::string& path, std::function<void(int fd)> serve) {
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    unlink(path.c_str());
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd_, 16), 0);
    thread_ = std::thread([this, serve] {
      while (!stop_.load()) {
        pollfd item{fd_, POLLIN, 0};
        if (poll(&item, 1, 20) <= 0) continue;
        const int client = accept(fd_, nullptr, nullptr);
        if (client < 0) continue;
        ++connections;
        serve(client);
        close(client);
      }
    });
  }
  ~FakeGateway() {
    stop_.store(true);
    thread_.join();
    close(fd_);
  }
  FakeGateway(const FakeGateway&) = delete;
  FakeGateway& operator=(const FakeGateway&) = delete;
  std::atomic<int> connections{0};

 private:
  int fd_ = -1;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// The next request on fd; nothing at its end.
std::optional<Request> read_request(int fd) {
  FrameParser parser;
  std::vector<std::string> messages;
  std::string buffer(65536, '\0');
  while (messages.empty()) {
    const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return std::nullopt;
    if (!parser.push({buffer.data(), static_cast<std::size_t>(n)}, messages)) return std::nullopt;
  }
  auto request = decode<Request>(messages[0]);
  return request ? std::optional<Request>(*request) : std::nullopt;
}

void write_response(int fd, const Response& response) {
  std::string out;
  append_frames(encode(response), 1, out);
  EXPECT_EQ(send(fd, out.data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
}

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() {
    char pattern[] = "/tmp/muster-client-XXXXXX";
    folder_ = mkdtemp(pattern);
    options_.gateway = folder_ + "/gateway.sock";
    options_.timeout = seconds(10);
    options_.on_waiting = [this](const std::string& line) { notices_.push_back(line); };
  }
  ~ClientTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
  ClientSettings options_;
  std::vector<std::string> notices_;
};

TEST_F(ClientTest, WithoutAGatewayItWaitsAsLongAsToldAndExits75) {
  options_.timeout = milliseconds(400);
  Client client(options_);
  const auto begun = std::chrono::steady_clock::now();
  const auto answered = client.call(Verb::kSubmit, "x");
  const auto spent = std::chrono::steady_clock::now() - begun;
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(exit_code_of(answered.error().code), 75);
  EXPECT_NE(answered.error().message.find(options_.gateway), std::string::npos);
  EXPECT_NE(answered.error().message.find("request id"), std::string::npos);
  EXPECT_GE(spent, std::chrono::milliseconds(390));
  EXPECT_LT(spent, std::chrono::seconds(3));
  EXPECT_EQ(notices_.size(), 1U);
  options_.timeout = {};
  Client impatient(options_);
  EXPECT_EQ(impatient.call(Verb::kPing, "").error().code, ErrorCode::kUnavailable);
}

TEST_F(ClientTest, AGatewayThatComesLateIsFound) {
  std::optional<FakeGateway> gateway;
  std::atomic<bool> waiting{false};
  options_.on_waiting = [&](const std::string&) { waiting.store(true); };
  std::thread late([&] {
    EXPECT_TRUE(wait_until([&] { return waiting.load(); }));
    gateway.emplace(options_.gateway, [](int fd) {
      while (const auto request = read_request(fd)) {
        Response response;
        response.number = request->number;
        response.body = "late";
        write_response(fd, response);
      }
    });
  });
  {
    Client client(options_);
    const auto answered = client.call(Verb::kPing, "");
    late.join();
    ASSERT_TRUE(answered.ok()) << answered.error().message;
    EXPECT_EQ(answered->body, "late");
  }
}

TEST_F(ClientTest, RetriesPassingRefusalsUnderTheSameIdAndReadsItsWrites) {
  std::atomic<int> asked{0};
  std::vector<Request> requests;
  FakeGateway gateway(options_.gateway, [&](int fd) {
    while (const auto request = read_request(fd)) {
      requests.push_back(*request);
      Response response;
      response.number = request->number;
      response.seq = {77};
      if (++asked <= 2) {
        response.ok = false;
        response.code = asked == 1 ? ErrorCode::kUnavailable : ErrorCode::kLimit;
        response.error = "later";
        response.retry_after_ms = 20;
      }
      write_response(fd, response);
    }
  });
  {
    Client client(options_);
    const Uuid id = new_request_id();
    CallOptions call;
    call.request_id = id;
    ASSERT_TRUE(client.call(Verb::kSubmit, "x", call).ok());
    ASSERT_TRUE(client.call(Verb::kJobs, "").ok());
    ASSERT_EQ(requests.size(), 4U);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(requests[static_cast<std::size_t>(i)].request_id, id);
    EXPECT_EQ(requests[0].seen.value, 0U);
    EXPECT_EQ(requests[3].seen.value, 77U);
    EXPECT_FALSE(requests[3].request_id.has_value());
    EXPECT_EQ(notices_.size(), 1U);
  }
}

TEST_F(ClientTest, ALimitWithoutATimeToComeBackIsFinal) {
  FakeGateway gateway(options_.gateway, [&](int fd) {
    while (const auto request = read_request(fd)) {
      Response response;
      response.number = request->number;
      response.ok = false;
      response.code = ErrorCode::kLimit;
      response.error = "100,000 jobs are queued already";
      write_response(fd, response);
    }
  });
  {
    Client client(options_);
    EXPECT_EQ(client.call(Verb::kSubmit, "").error().message, "100,000 jobs are queued already");
  }
}

TEST_F(ClientTest, ALyingGatewayIsCorruptNotACrash) {
  for (const std::string& lie : {std::string(100, '\xff'), std::string("\5\0\0\0\0\1\0\0\0", 9),
                                 std::string("\6\0\0\0\0\1\0\0\0\xc1", 10)}) {
    FakeGateway gateway(options_.gateway, [&](int fd) {
      static_cast<void>(read_request(fd));
      EXPECT_GT(send(fd, lie.data(), lie.size(), MSG_NOSIGNAL), 0);
    });
    Client client(options_);
    const auto answered = client.call(Verb::kPing, "");
    ASSERT_FALSE(answered.ok());
    EXPECT_EQ(answered.error().code, ErrorCode::kCorrupt);
  }
}

TEST_F(ClientTest, ARefusedConnectionSaysWhy) {
  FakeGateway gateway(options_.gateway, [&](int fd) {
    Response response;
    response.ok = false;
    response.code = ErrorCode::kInvalid;
    response.error = "you are nobody here";
    write_response(fd, response);
  });
  Client client(options_);
  const auto answered = client.call(Verb::kPing, "");
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().message, "you are nobody here");
}

TEST_F(ClientTest, AStreamBeginsAgainAfterABreak) {
  std::atomic<int> connection{0};
  FakeGateway gateway(options_.gateway, [&](int fd) {
    const int mine = ++connection;
    const auto request = read_request(fd);
    if (!request) return;
    Response response;
    response.number = request->number;
    response.more = true;
    for (int i = 0; i < 3; ++i) {
      response.body = std::to_string(mine) + std::to_string(i) + " ";
      write_response(fd, response);
    }
    if (mine == 1) return;
    response.more = false;
    response.body = "end";
    write_response(fd, response);
    static_cast<void>(read_request(fd));
  });
  std::string bodies;
  int firsts = 0;
  {
    Client client(options_);
    const auto streamed =
        client.stream(Verb::kWatch, "", [&](const Response& response, bool first) {
          if (first) ++firsts;
          bodies += response.body;
          return true;
        });
    EXPECT_TRUE(streamed.ok()) << streamed.error().message;
  }
  EXPECT_EQ(bodies, "10 11 12 20 21 22 end");
  EXPECT_EQ(firsts, 2);
}

TEST_F(ClientTest, BadPathsAreRefusedAtOnce) {
  for (const std::string& path : {std::string(), "/tmp/" + std::string(200, 'x')}) {
    options_.gateway = path;
    Client client(options_);
    EXPECT_EQ(client.call(Verb::kPing, "").error().code, ErrorCode::kInvalid);
  }
}

TEST(RequestIds, AreVersionSevenAndDiffer) {
  const Uuid a = new_request_id();
  const Uuid b = new_request_id();
  EXPECT_NE(a, b);
  EXPECT_EQ(to_text(a)[14], '7');
  EXPECT_LE(to_text(a).substr(0, 8), to_text(b).substr(0, 8));
}

TEST(GatewayPath, ComesFromTheEnvironmentThenTheUserThenTheSystem) {
  char pattern[] = "/tmp/muster-runtime-XXXXXX";
  const std::string folder = mkdtemp(pattern);
  unsetenv("MUSTER_GATEWAY");
  setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  EXPECT_EQ(default_gateway_path(), "/run/muster/gateway.sock");
  std::filesystem::create_directories(folder + "/muster/gateway.sock");
  EXPECT_EQ(default_gateway_path(), folder + "/muster/gateway.sock");
  setenv("MUSTER_GATEWAY", "/x/y", 1);
  EXPECT_EQ(default_gateway_path(), "/x/y");
  unsetenv("MUSTER_GATEWAY");
  unsetenv("XDG_RUNTIME_DIR");
  std::filesystem::remove_all(folder);
}

TEST(ExitCodes, AreDistinct) {
  std::vector<int> codes;
  for (const ErrorCode code : {ErrorCode::kInvalid, ErrorCode::kNotFound, ErrorCode::kConflict,
                               ErrorCode::kLimit, ErrorCode::kUnavailable, ErrorCode::kCorrupt}) {
    for (const int other : codes) EXPECT_NE(exit_code_of(code), other);
    codes.push_back(exit_code_of(code));
  }
}

}  // namespace
}  // namespace muster
