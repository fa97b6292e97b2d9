// F17: two machines with one key. The port and the sockets are real, the workers are not.
#include "controller/host/worker_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/message/codec.h"
#include "tests/support/wait.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeWorker {
 public:
  FakeWorker(LinkContext& context, const ClientOptions& options, std::uint64_t incarnation,
             std::string boot_id)
      : session_(incarnation), boot_id_(std::move(boot_id)) {
    connect(context, options);
  }
  void connect(LinkContext& context, const ClientOptions& options) {
    auto opened = ClientSocket::open(context, options);
    EXPECT_TRUE(opened.ok());
    socket_ = std::move(*opened);
    connection_ = 0;
  }

  // Reads and writes what there is; says hello to a controller it has not met yet.
  void turn() {
    socket_->has_input();
    socket_->tick();
    while (auto packet = socket_->receive()) take(*packet);
    if (socket_->incarnation() != connection_) {
      connection_ = socket_->incarnation();
      session_.reconnect();
    }
    if (!socket_->connected()) return;
    for (const std::string& packet : session_.take_outgoing(boottime())) {
      EXPECT_TRUE(socket_->send(packet).ok());
    }
  }
  void say_hello() {
    WorkerMessage message;
    message.hello.emplace();
    message.hello->node = "n1";
    message.hello->boot_id = boot_id_;
    message.hello->incarnation = session_.incarnation();
    send(message);
  }
  void beat() {
    WorkerMessage message;
    message.heartbeat = true;
    send(message);
  }
  bool is_welcome() const { return welcomes_ > 0; }
  const std::string& refused() const { return refused_; }
  void forget_answers() {
    welcomes_ = 0;
    refused_.clear();
  }

 private:
  void send(const WorkerMessage& message) {
    if (!session_.knows_peer()) return;
    EXPECT_TRUE(session_.send(encode(message)).ok());
  }
  void take(const std::string& packet) {
    const auto received = session_.receive(packet);
    if (!received) return;
    if (received->fresh) say_hello();
    for (const std::string& payload : received->payloads) {
      const auto message = decode<ControllerMessage>(payload);
      ASSERT_TRUE(message.ok());
      if (message->welcome) ++welcomes_;
      if (!message->refused.empty()) refused_ = message->refused;
    }
  }

  Session session_;
  std::string boot_id_;
  std::unique_ptr<ClientSocket> socket_;
  std::uint64_t connection_ = 0;
  int welcomes_ = 0;
  std::string refused_;
};

class TwoMachines : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.key = make_key_pair();
    const KeyPair server_key = make_key_pair();
    options_.server_key = server_key.public_key;
    access_.add(options_.key.public_key, {"node:n1", LinkRole::kWorker});
    auto authenticator = Authenticator::start(context_, access_, {});
    ASSERT_TRUE(authenticator.ok());
    authenticator_ = std::move(*authenticator);
    ServerOptions server;
    server.endpoint = "tcp://127.0.0.1:*";
    server.key = server_key;
    auto socket = ServerSocket::open(*authenticator_, server);
    ASSERT_TRUE(socket.ok());
    options_.endpoint = (*socket)->endpoint();
    port_ = std::make_unique<WorkerPort>(WorkerPortParts{std::move(*socket), Epoch{7}, "cluster",
                                                         [this](const Command& command) {
                                                           note(command);
                                                           return true;
                                                         },
                                                         [this] { return suspect_after_.load(); }});
    port_->start();
  }
  void TearDown() override { port_.reset(); }

  void note(const Command& command) {
    const std::lock_guard lock(mutex_);
    if (const auto* hello = std::get_if<WorkerHello>(&command)) boots_.push_back(hello->boot_id);
    if (std::holds_alternative<WorkerHeard>(command)) ++heard_;
  }
  std::vector<std::string> boots() {
    const std::lock_guard lock(mutex_);
    return boots_;
  }
  int heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  std::unique_ptr<FakeWorker> worker(std::uint64_t incarnation, const std::string& boot_id) {
    return std::make_unique<FakeWorker>(client_context_, options_, incarnation, boot_id);
  }
  // Both turn until it is so.
  template <class Condition>
  bool until(std::vector<FakeWorker*> workers, Condition condition) {
    return wait_until([&] {
      for (FakeWorker* each : workers) each->turn();
      return condition();
    });
  }

  LinkContext context_;
  LinkContext client_context_;
  AccessList access_;
  ClientOptions options_;
  std::atomic<Duration> suspect_after_{seconds(20)};
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<WorkerPort> port_;
  std::mutex mutex_;
  std::vector<std::string> boots_;
  int heard_ = 0;
};

TEST_F(TwoMachines, TheSecondIsRefusedAndTheFirstGoesOn) {
  const auto first = worker(100, "boot-a");
  ASSERT_TRUE(until({first.get()}, [&] { return first->is_welcome(); }));
  const auto second = worker(200, "boot-b");
  ASSERT_TRUE(until({first.get(), second.get()}, [&] { return !second->refused().empty(); }));
  EXPECT_THAT(second->refused(), HasSubstr("another machine is node 'n1'"));
  EXPECT_FALSE(second->is_welcome());
  EXPECT_THAT(boots(), ElementsAre("boot-a"));
  ASSERT_EQ(port_->alarms().size(), 1U);
  EXPECT_EQ(port_->alarms()[0].node, "n1");
  EXPECT_THAT(port_->alarms()[0].text, HasSubstr("boot-b"));

  // What the second says does not count; the first is heard and gets what is meant for it.
  second->beat();
  first->beat();
  ASSERT_TRUE(until({first.get(), second.get()}, [&] { return heard() > 0; }));
  ControllerMessage message;
  message.refused = "a message for the first";
  port_->send("n1", message);
  second->forget_answers();
  ASSERT_TRUE(until({first.get(), second.get()}, [&] { return !first->refused().empty(); }));
  EXPECT_TRUE(second->refused().empty());
  EXPECT_EQ(heard(), 1);
}

TEST_F(TwoMachines, ARestartedWorkerOfTheSameBootIsTakenAtOnce) {
  auto first = worker(100, "boot-a");
  ASSERT_TRUE(until({first.get()}, [&] { return first->is_welcome(); }));
  first.reset();
  const auto again = worker(101, "boot-a");
  ASSERT_TRUE(until({again.get()}, [&] { return again->is_welcome(); }));
  EXPECT_THAT(boots(), ElementsAre("boot-a", "boot-a"));
  EXPECT_THAT(port_->alarms(), IsEmpty());
}

TEST_F(TwoMachines, ARebootedMachineIsTakenOnceTheOldBootIsSilent) {
  auto first = worker(100, "boot-a");
  ASSERT_TRUE(until({first.get()}, [&] { return first->is_welcome(); }));
  first.reset();
  suspect_after_ = milliseconds(1);
  const auto rebooted = worker(200, "boot-b");
  ASSERT_TRUE(until({rebooted.get()}, [&] { return rebooted->is_welcome(); }));
  EXPECT_THAT(boots(), ElementsAre("boot-a", "boot-b"));
  EXPECT_THAT(port_->alarms(), IsEmpty());
}

TEST_F(TwoMachines, OneThatWasRefusedIsTakenLaterInTheSameSession) {
  auto first = worker(100, "boot-a");
  ASSERT_TRUE(until({first.get()}, [&] { return first->is_welcome(); }));
  const auto second = worker(200, "boot-b");
  ASSERT_TRUE(until({second.get()}, [&] { return !second->refused().empty(); }));
  first.reset();
  suspect_after_ = milliseconds(1);
  second->forget_answers();
  second->say_hello();
  ASSERT_TRUE(until({second.get()}, [&] { return second->is_welcome(); }));
  EXPECT_THAT(boots(), ElementsAre("boot-a", "boot-b"));
  second->beat();
  EXPECT_TRUE(until({second.get()}, [&] { return heard() == 1; }));
}

TEST_F(TwoMachines, ANewConnectionOfTheFirstChangesNothing) {
  const auto first = worker(100, "boot-a");
  ASSERT_TRUE(until({first.get()}, [&] { return first->is_welcome(); }));
  first->connect(client_context_, options_);
  first->beat();
  ASSERT_TRUE(until({first.get()}, [&] { return heard() == 1; }));
  EXPECT_THAT(boots(), ElementsAre("boot-a"));
}

}  // namespace
}  // namespace muster
