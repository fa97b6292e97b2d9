// Requests through the gateway: stamped, answered, refused, lost and found.
#include "base/message/frame.h"
#include "submit/client/client.h"
#include "tests/unit/gateway/fake_controller.h"

namespace muster {
namespace {

ClientSettings client_options(const std::string& path, Duration timeout = seconds(10)) {
  ClientSettings options;
  options.gateway = path;
  options.timeout = timeout;
  return options;
}

TEST_F(GatewayTest, StampsWhoAsksAndBringsTheAnswerBack) {
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_));
  const auto answered = client.call(Verb::kSubmit, "body");
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(answered->body, "body");
  EXPECT_EQ(client.seen().value, 42U);
  const auto seen = controller_->seen();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].uid.value, geteuid());
  EXPECT_EQ(seen[0].gid.value, getegid());
  EXPECT_EQ(seen[0].pid, getpid());
}

TEST_F(GatewayTest, FortyMebibytesEachWay) {
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_, seconds(60)));
  const std::string body(30U << 20U, 'x');
  const auto answered = client.call(Verb::kSubmit, body);
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(answered->body.size(), body.size());
  EXPECT_EQ(client.call(Verb::kSubmit, std::string(kMessageBytesMax, 'x')).error().code,
            ErrorCode::kLimit);
}

TEST_F(GatewayTest, ManyClientsAtOnceEachGetTheirOwn) {
  limits_.mutating = {1000000, 1000000};
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 20; ++t) {
    threads.emplace_back([&, t] {
      Client client(client_options(path_, seconds(30)));
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t) + "/" + std::to_string(i);
        const auto answered = client.call(Verb::kSubmit, body);
        if (answered && answered->body == body) good.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good.load(), 1000);
}

TEST_F(GatewayTest, SaysAtOnceThatTheControllerIsAway) {
  endpoint_ = "tcp://127.0.0.1:1";
  start_gateway();
  Client client(client_options(path_, {}));
  const auto begun = std::chrono::steady_clock::now();
  const auto answered = client.call(Verb::kPing, "");
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(answered.error().message.find("is away"), std::string::npos);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
}

TEST_F(GatewayTest, ARestartOfTheControllerRepeatsWhatWasUnderWayUnderTheSameId) {
  std::mutex mutex;
  std::vector<Uuid> ids;
  std::atomic<bool> silent{true};
  const auto answer = [&](const StampedRequest& stamped, const Request& request) {
    const std::lock_guard lock(mutex);
    ids.push_back(request.request_id.value_or(Uuid{}));
    return silent.load() ? std::vector<Response>{} : echo(stamped, request);
  };
  start_controller(answer);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  std::vector<std::string> notices;
  ClientSettings options = client_options(path_, seconds(20));
  options.on_waiting = [&](const std::string& line) { notices.push_back(line); };
  Client client(options);
  const auto ticket = client.start(Verb::kSubmit, "once");
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return !ids.empty();
  }));
  silent.store(false);
  controller_.reset();
  start_controller(answer);
  const auto answered = client.finish(*ticket);
  ASSERT_TRUE(answered.ok()) << answered.error().message;
  EXPECT_EQ(answered->body, "once");
  ASSERT_GE(ids.size(), 2U);
  for (const Uuid& id : ids) EXPECT_EQ(id, ids[0]);
  EXPECT_NE(ids[0], Uuid{});
  EXPECT_EQ(notices.size(), 1U);
}

TEST_F(GatewayTest, ARestartOfTheGatewayRepeatsToo) {
  std::atomic<bool> silent{true};
  std::atomic<int> asked{0};
  start_controller([&](const StampedRequest& stamped, const Request& request) {
    asked.fetch_add(1);
    return silent.load() ? std::vector<Response>{} : echo(stamped, request);
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_, seconds(20)));
  const auto ticket = client.start(Verb::kSubmit, "once");
  ASSERT_TRUE(eventually([&] { return asked.load() == 1; }));
  stop_gateway();
  silent.store(false);
  start_gateway();
  const auto answered = client.finish(*ticket);
  ASSERT_TRUE(answered.ok()) << answered.error().message;
}

TEST_F(GatewayTest, StreamsGoOnUntilTheClientLeavesAndTheControllerHearsOfIt) {
  start_controller([](const StampedRequest& stamped, const Request& request) {
    if (request.verb != Verb::kWatch) return echo(stamped, request);
    std::vector<Response> responses(5);
    for (std::size_t i = 0; i < responses.size(); ++i) {
      responses[i].body = std::to_string(i);
      responses[i].more = true;
    }
    return responses;
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_));
  std::string bodies;
  int firsts = 0;
  const auto streamed = client.stream(Verb::kWatch, "", [&](const Response& response, bool first) {
    bodies += response.body;
    firsts += first ? 1 : 0;
    return bodies.size() < 5;
  });
  EXPECT_TRUE(streamed.ok());
  EXPECT_EQ(bodies, "01234");
  EXPECT_EQ(firsts, 1);
  EXPECT_TRUE(eventually([&] { return controller_->closed() == 1; }));
  EXPECT_TRUE(client.call(Verb::kPing, "x").ok());
}

TEST_F(GatewayTest, RejectionsOfTheControllerComeThroughAsTheyAre) {
  start_controller([](const StampedRequest&, const Request&) {
    Response response;
    response.ok = false;
    response.code = ErrorCode::kNotFound;
    response.error = "no such job";
    return std::vector<Response>{response};
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_));
  const auto answered = client.call(Verb::kJob, "");
  ASSERT_FALSE(answered.ok());
  EXPECT_EQ(answered.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(answered.error().message, "no such job");
}

TEST_F(GatewayTest, PipelinedRequestsAreAnsweredInAnyOrder) {
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client client(client_options(path_));
  std::vector<std::uint64_t> tickets;
  for (std::size_t i = 0; i < Client::kOutstandingMax; ++i) {
    tickets.push_back(*client.start(Verb::kPing, std::to_string(i)));
  }
  EXPECT_EQ(client.start(Verb::kPing, "").error().code, ErrorCode::kLimit);
  for (std::size_t i = tickets.size(); i-- > 0;) {
    const auto answered = client.finish(tickets[i]);
    ASSERT_TRUE(answered.ok()) << answered.error().message;
    EXPECT_EQ(answered->body, std::to_string(i));
  }
  EXPECT_FALSE(client.finish(tickets[0]).ok());
}

TEST_F(GatewayTest, ASecondGatewayOnTheSocketIsRefused) {
  start_controller(echo);
  start_gateway();
  GatewayOptions options;
  options.socket = path_;
  options.controller = endpoint_;
  options.server_key = server_key_.public_key;
  options.key = gateway_key_;
  EXPECT_EQ(Gateway::open(options).error().code, ErrorCode::kConflict);
  options.socket = folder_ + "/other.sock";
  options.server_key = "short";
  EXPECT_EQ(Gateway::open(options).error().code, ErrorCode::kInvalid);
  options.server_key = server_key_.public_key;
  options.controller = "localhost:7";
  EXPECT_EQ(Gateway::open(options).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace muster
