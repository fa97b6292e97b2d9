// S07, S28: floods, garbage, greed and slow readers; what others feel of them.
#include <fstream>

#include "base/message/frame.h"
#include "base/types/rng.h"
#include "submit/client/client.h"
#include "tests/unit/gateway/fake_controller.h"

namespace muster {
namespace {

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stoul(line.substr(6));
  }
  return 0;
}

ClientSettings quick(const std::string& path) {
  ClientSettings options;
  options.gateway = path;
  options.timeout = seconds(10);
  return options;
}

std::string framed(Verb verb, std::uint64_t number, std::string body = "") {
  Request request;
  request.verb = verb;
  request.number = number;
  request.body = std::move(body);
  std::string out;
  append_frames(encode(request), static_cast<std::uint32_t>(number), out);
  return out;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// What comes until the other side closes, at most max bytes.
std::string read_all(int fd, std::size_t max = 1U << 20U) {
  std::string text;
  std::string buffer(65536, '\0');
  timeval limit{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  while (text.size() < max) {
    const ssize_t n = recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

TEST_F(GatewayTest, GarbageEndsOnlyItsOwnConnection) {
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client good(quick(path_));
  ASSERT_TRUE(good.call(Verb::kPing, "").ok());
  Rng rng(11);
  const std::string valid = framed(Verb::kPing, 1);
  std::string replies;
  for (int round = 0; round < 300; ++round) {
    const int fd = raw_connect();
    ASSERT_GE(fd, 0);
    std::string bytes;
    if (round % 3 == 0) {
      bytes.resize(rng.next() % 200);
      for (char& c : bytes) c = static_cast<char>(rng.next());
    } else {
      bytes = valid;
      for (int flips = 0; flips < 3; ++flips) {
        bytes[rng.next() % bytes.size()] = static_cast<char>(rng.next());
      }
    }
    write_all(fd, bytes);
    shutdown(fd, SHUT_WR);
    replies += read_all(fd);
    close(fd);
  }
  EXPECT_EQ(replies.find(gateway_key_.secret_key), std::string::npos);
  EXPECT_EQ(replies.find(gateway_key_.public_key), std::string::npos);
  EXPECT_TRUE(good.call(Verb::kPing, "").ok());
  EXPECT_GT(counts().dropped, 50U);
}

TEST_F(GatewayTest, AMalformedRequestIsAnsweredAndTheConnectionEnds) {
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  for (const std::string& message :
       {std::string("\xdd\xff\xff\xff\xff"), std::string(100000, '\x91'), std::string("x"),
        std::string()}) {
    const int fd = raw_connect();
    std::string bytes;
    append_frames(message, 1, bytes);
    write_all(fd, bytes);
    const std::string reply = read_all(fd);
    FrameParser parser;
    std::vector<std::string> messages;
    ASSERT_TRUE(parser.push(reply, messages).ok());
    ASSERT_EQ(messages.size(), 1U);
    const auto response = decode<Response>(messages[0]);
    ASSERT_TRUE(response.ok());
    EXPECT_FALSE(response->ok);
    EXPECT_EQ(response->number, 0U);
    close(fd);
  }
  EXPECT_TRUE(controller_->seen().empty());
}

TEST_F(GatewayTest, RatesAreBoundedPerUserAndSayWhenToComeBack) {
  limits_.mutating = {100, 10};
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  ClientSettings options = quick(path_);
  options.timeout = {};
  Client impatient(options);
  int limited = 0;
  for (int i = 0; i < 30; ++i) {
    const auto answered = impatient.call(Verb::kHold, "");
    if (!answered && answered.error().code == ErrorCode::kLimit) ++limited;
  }
  EXPECT_GT(limited, 5);
  EXPECT_TRUE(impatient.call(Verb::kPing, "").ok());  // Reading has its own measure.
  Client patient(quick(path_));
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(patient.call(Verb::kHold, "").ok());
}

TEST_F(GatewayTest, ConnectionsPerUserAreBounded) {
  limits_.connections_per_uid_max = 10;
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  std::vector<int> fds;
  for (int i = 0; i < 10; ++i) fds.push_back(raw_connect());
  ASSERT_TRUE(eventually([&] { return counts().connections == 10; }));
  const int eleventh = raw_connect();
  EXPECT_NE(read_all(eleventh).find("connections to this gateway already"), std::string::npos);
  close(eleventh);
  close(fds[0]);
  ASSERT_TRUE(eventually([&] { return counts().connections == 9; }));
  Client client(quick(path_));
  EXPECT_TRUE(client.call(Verb::kPing, "").ok());
  for (std::size_t i = 1; i < fds.size(); ++i) close(fds[i]);
}

TEST_F(GatewayTest, AReaderThatNeverReadsIsDroppedInBoundedMemory) {
  limits_.bytes_out_per_connection_max = 8U << 20U;
  const std::string big(1U << 20U, 'x');
  start_controller([&](const StampedRequest&, const Request&) {
    Response response;
    response.body = big;
    return std::vector<Response>{response};
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  Client good(quick(path_));
  ASSERT_TRUE(good.call(Verb::kPing, "").ok());
  const std::size_t before = resident_kib();
  const int fd = raw_connect();
  for (std::uint64_t i = 1; i <= 100; ++i) write_all(fd, framed(Verb::kJobs, i));
  EXPECT_TRUE(eventually([&] { return counts().dropped > 0; }, 10000));
  EXPECT_LT(resident_kib(), before + (200U << 10U));
  EXPECT_TRUE(good.call(Verb::kPing, "").ok());
  close(fd);
}

TEST_F(GatewayTest, AStuckReaderIsDroppedAfterItsTime) {
  limits_.stuck_max = seconds(1);
  const std::string big(2U << 20U, 'x');
  start_controller([&](const StampedRequest&, const Request&) {
    Response response;
    response.body = big;
    return std::vector<Response>{response};
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  const int fd = raw_connect();
  write_all(fd, framed(Verb::kJobs, 1));
  EXPECT_TRUE(eventually([&] { return counts().dropped == 1; }, 6000));
  close(fd);
}

TEST_F(GatewayTest, UnansweredRequestsStopTheReadingNotTheGateway) {
  std::atomic<std::size_t> asked{0};
  start_controller([&](const StampedRequest& stamped, const Request& request) {
    if (request.verb == Verb::kPing) return echo(stamped, request);
    asked.fetch_add(1);
    return std::vector<Response>{};
  });
  start_gateway();
  ASSERT_TRUE(wait_connected());
  const int fd = raw_connect();
  std::string bytes;
  for (std::uint64_t i = 1; i <= 5000; ++i) bytes += framed(Verb::kStatus, i);
  std::thread writer([&] { write_all(fd, bytes); });
  EXPECT_TRUE(eventually([&] { return asked.load() >= 256; }));
  Client good(quick(path_));
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(good.call(Verb::kPing, "").ok());
  EXPECT_EQ(asked.load(), 256U);
  shutdown(fd, SHUT_RDWR);
  writer.join();
  close(fd);
  EXPECT_TRUE(eventually([&] { return controller_->closed() == 1; }));
}

TEST_F(GatewayTest, UnfinishedRequestsOfOneUserAreBounded) {
  limits_.bytes_in_per_uid_max = 16U << 20U;
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  const std::size_t before = resident_kib();
  const std::string whole = framed(Verb::kSubmit, 1, std::string(30U << 20U, 'x'));
  std::vector<int> fds;
  for (int i = 0; i < 8; ++i) {
    fds.push_back(raw_connect());
    write_all(fds.back(), std::string_view(whole).substr(0, 10U << 20U));
  }
  EXPECT_TRUE(eventually([&] { return counts().dropped >= 6; }));
  EXPECT_LT(resident_kib(), before + (150U << 10U));
  for (const int fd : fds) close(fd);
}

TEST_F(GatewayTest, TwentyThousandSmallRequestsASecond) {
  limits_.reading = {10000000, 10000000};
  start_controller(echo);
  start_gateway();
  ASSERT_TRUE(wait_connected());
  constexpr int kThreads = 4;
  constexpr int kRequests = 5000;
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      Client client(quick(path_));
      std::vector<std::uint64_t> tickets;
      for (int i = 0; i < kRequests; ++i) {
        tickets.push_back(*client.start(Verb::kPing, "x"));
        if (tickets.size() < 64) continue;
        for (const std::uint64_t ticket : tickets) good.fetch_add(client.finish(ticket) ? 1 : 0);
        tickets.clear();
      }
      for (const std::uint64_t ticket : tickets) good.fetch_add(client.finish(ticket) ? 1 : 0);
    });
  }
  for (auto& thread : threads) thread.join();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(good.load(), kThreads * kRequests);
  RecordProperty("per_second", static_cast<int>(kThreads * kRequests / spent.count()));
  EXPECT_LT(spent.count(), 60.0);  // The budget is a matter of a release build: 1 s.
}

}  // namespace
}  // namespace muster
