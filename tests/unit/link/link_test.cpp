// Links between friends: payloads, order, identity, reconnects, back pressure.
#include <thread>

#include "tests/support/wait.h"
#include "tests/unit/link/link_fixture.h"

namespace muster {
namespace {

TEST_F(LinkTest, CarriesPayloadsBothWaysUnderTheKeysIdentity) {
  const KeyPair key = make_key_pair();
  access_.add(key.public_key, {"node:n1", LinkRole::kWorker});
  const auto server = serve(LinkRole::kWorker);
  const auto client = connect(*server, key);
  EXPECT_EQ(client->send("early").error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(turn(*server, client.get(), [&] { return client->connected(); }));
  EXPECT_EQ(client->incarnation(), 1U);
  const std::string big(kLinkPayloadBytesMax, 'x');
  for (const std::string& payload : {std::string("one"), std::string(), big, std::string("two")}) {
    ASSERT_TRUE(client->send(payload).ok());
  }
  ASSERT_TRUE(turn(
      *server, client.get(), [&] { return inbox_.size() == 4; }, 30000));
  EXPECT_EQ(inbox_[0].payload, "one");
  EXPECT_EQ(inbox_[1].payload, "");
  EXPECT_EQ(inbox_[2].payload.size(), big.size());
  EXPECT_EQ(inbox_[3].payload, "two");
  for (const auto& inbound : inbox_) EXPECT_EQ(inbound.user_id, "node:n1");
  ASSERT_TRUE(server->send(inbox_[0].peer, big).ok());
  ASSERT_TRUE(server->send(inbox_[0].peer, "after").ok());
  ASSERT_TRUE(turn(
      *server, client.get(), [&] { return answers_.size() == 2; }, 30000));
  EXPECT_EQ(answers_[0], big);
  EXPECT_EQ(answers_[1], "after");
  EXPECT_EQ(server->send(inbox_[0].peer, big + "x").error().code, ErrorCode::kLimit);
  EXPECT_EQ(client->send(big + "x").error().code, ErrorCode::kLimit);
}

TEST_F(LinkTest, AGonePeerIsUnroutableAndANewServerIsFoundAgain) {
  const KeyPair key = make_key_pair();
  access_.add(key.public_key, {"node:n1", LinkRole::kWorker});
  auto server = serve(LinkRole::kWorker);
  const std::string endpoint = server->endpoint();
  auto client = connect(*server, key);
  ASSERT_TRUE(turn(*server, client.get(), [&] { return client->connected(); }));
  ASSERT_TRUE(client->send("hello").ok());
  ASSERT_TRUE(turn(*server, client.get(), [&] { return inbox_.size() == 1; }));
  EXPECT_EQ(server->send("nobody", "x").error().code, ErrorCode::kNotFound);

  server.reset();
  ServerOptions options;
  options.endpoint = endpoint;
  options.key = server_key_;
  Result<std::unique_ptr<ServerSocket>> again = fail(ErrorCode::kUnavailable, "");
  ASSERT_TRUE(wait_until([&] {
    again = ServerSocket::open(*authenticator_, options);
    return again.ok();
  })) << again.error().message;
  server = std::move(*again);
  ASSERT_TRUE(turn(*server, client.get(),
                   [&] { return client->connected() && client->incarnation() == 2; }));
  ASSERT_TRUE(client->send("again").ok());
  ASSERT_TRUE(turn(*server, client.get(), [&] { return inbox_.size() == 2; }));
  EXPECT_NE(inbox_[0].peer, inbox_[1].peer);
  EXPECT_EQ(inbox_[1].user_id, "node:n1");
  EXPECT_EQ(server->send(inbox_[0].peer, "x").error().code, ErrorCode::kNotFound);

  client.reset();
  EXPECT_TRUE(turn(*server, nullptr, [&] {
    const auto sent = server->send(inbox_[1].peer, "x");
    return !sent.ok() && sent.error().code == ErrorCode::kNotFound;
  }));
}

TEST_F(LinkTest, AKeyAdmittedLaterConnectsByItself) {
  const KeyPair key = make_key_pair();
  const auto server = serve(LinkRole::kGateway);
  const auto client = connect(*server, key);
  ASSERT_TRUE(turn(*server, client.get(), [&] { return authenticator_->refused() >= 2; }));
  EXPECT_FALSE(client->connected());
  EXPECT_NE(client->last_problem().find("not on the server's list"), std::string::npos);
  access_.add(key.public_key, {"gateway:login1", LinkRole::kGateway});
  EXPECT_TRUE(turn(*server, client.get(), [&] { return client->connected(); }));
}

TEST_F(LinkTest, BulkTakesWorkersAndEnrolTakesAnyKey) {
  const KeyPair worker = make_key_pair();
  const KeyPair stranger = make_key_pair();
  access_.add(worker.public_key, {"node:n1", LinkRole::kWorker});
  const auto bulk = serve(LinkRole::kBulk);
  const auto enrol = serve(LinkRole::kEnrol);
  const auto log = connect(*bulk, worker);
  ASSERT_TRUE(turn(*bulk, log.get(), [&] { return log->connected(); }));
  const auto asking = connect(*enrol, stranger);
  ASSERT_TRUE(turn(*enrol, asking.get(), [&] { return asking->connected(); }));
  ASSERT_TRUE(asking->send("let me in").ok());
  ASSERT_TRUE(turn(*enrol, asking.get(), [&] { return inbox_.size() == 1; }));
  EXPECT_EQ(inbox_[0].user_id, "enrol:" + stranger.public_key);
}

TEST_F(LinkTest, ManyClientsKeepTheirIdentities) {
  const auto server = serve(LinkRole::kWorker);
  std::vector<std::unique_ptr<ClientSocket>> clients;
  for (int i = 0; i < 50; ++i) {
    const KeyPair key = make_key_pair();
    access_.add(key.public_key, {"node:n" + std::to_string(i), LinkRole::kWorker});
    clients.push_back(connect(*server, key));
  }
  std::size_t sent = 0;
  ASSERT_TRUE(turn(*server, nullptr, [&] {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i]->tick();
      if (clients[i]->connected() && clients[i]->send("node:n" + std::to_string(i)).ok()) ++sent;
    }
    return sent >= 500;
  }));
  ASSERT_TRUE(turn(*server, nullptr, [&] { return inbox_.size() >= sent; }));
  for (const auto& inbound : inbox_) EXPECT_EQ(inbound.payload, inbound.user_id);
}

TEST_F(LinkTest, APeerThatNeverReadsIsBounded) {
  const KeyPair key = make_key_pair();
  access_.add(key.public_key, {"node:n1", LinkRole::kWorker});
  const auto server = serve(LinkRole::kWorker);
  const auto client = connect(*server, key);
  ASSERT_TRUE(turn(*server, client.get(), [&] { return client->connected(); }));
  ASSERT_TRUE(client->send("hello").ok());
  ASSERT_TRUE(turn(*server, client.get(), [&] { return inbox_.size() == 1; }));
  const std::string payload(1U << 20U, 'x');
  std::size_t sent = 0;
  Result<void> result;
  for (; sent < 500 && result; ++sent) result = server->send(inbox_[0].peer, payload);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kLimit);
  EXPECT_LT(sent, 150U);
  ASSERT_TRUE(turn(
      *server, client.get(), [&] { return answers_.size() == sent - 1; }, 30000));
}

}  // namespace
}  // namespace muster
