// Enrolment against a controller made for the test.
#include "worker/host/enrol.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "base/message/codec.h"
#include "rig.h"

namespace muster::testing {
namespace {

// Answers every request the same way, on a thread of its own.
class EnrolPort {
 public:
  explicit EnrolPort(EnrolAnswer answer) : answer_(std::move(answer)) {
    authenticator_ = *Authenticator::start(context_, access_, [](const std::string&) {});
    port_ = std::make_unique<Port>(*authenticator_, LinkRole::kEnrol, key, "tcp://127.0.0.1:*");
    endpoint = port_->socket->endpoint();
    thread_ = std::thread([this] { run(); });
  }
  ~EnrolPort() {
    stopping_ = true;
    thread_.join();
  }
  KeyPair key = make_key_pair();
  std::string endpoint;
  EnrolAsk asked;  // Read it when the answer has arrived.
  std::string user_id;

 private:
  void run() {
    while (!stopping_) {
      port_->socket->tick();
      while (auto inbound = port_->socket->receive()) {
        user_id = inbound->user_id;
        asked = *decode<EnrolAsk>(inbound->payload);
        (void)port_->socket->send(inbound->peer, encode(answer_));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EnrolAnswer answer_;
  LinkContext context_;
  AccessList access_;
  std::unique_ptr<Authenticator> authenticator_;
  std::unique_ptr<Port> port_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

EnrolOptions options_for(const EnrolPort& port, const Folder& folder) {
  EnrolOptions options;
  options.endpoint = port.endpoint;
  options.server_key = port.key.public_key;
  options.token = "secret";
  options.node = "n1";
  options.key_file = folder.path() + "/key";
  options.order_keys = folder.path() + "/order-keys";
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Enrol, WritesKeyAndPinnedKeys) {
  const Folder folder;
  const EnrolPort port({"", "00112233-4455-6677-8899-aabbccddeeff", std::string(64, 'a'), "3"});
  const EnrolOptions options = options_for(port, folder);
  const Result<void> enrolled = enrol(options);
  ASSERT_TRUE(enrolled.ok()) << enrolled.error().message;
  EXPECT_EQ(port.asked.node, "n1");
  EXPECT_EQ(port.asked.token, "secret");
  EXPECT_EQ(port.asked.public_key, load_key(options.key_file)->public_key);
  EXPECT_EQ(port.user_id, "enrol:" + port.asked.public_key);
  const auto pinned = parse_pinned_keys(text_of(options.order_keys));
  ASSERT_TRUE(pinned.ok());
  EXPECT_EQ(pinned->keys[0].id, 3U);
  EXPECT_TRUE(enrol(options).ok());  // The same key again.
}

TEST(Enrol, ARefusalChangesNothing) {
  const Folder folder;
  const EnrolPort port({"the token is wrong", "", "", ""});
  const EnrolOptions options = options_for(port, folder);
  const Result<void> enrolled = enrol(options);
  ASSERT_FALSE(enrolled.ok());
  EXPECT_EQ(enrolled.error().code, ErrorCode::kConflict);
  EXPECT_EQ(text_of(options.order_keys), "");
}

TEST(Enrol, NonsenseIsRefused) {
  const Folder folder;
  const EnrolPort port({"", "not a uuid", "zz", "1"});
  EnrolOptions options = options_for(port, folder);
  EXPECT_EQ(enrol(options).error().code, ErrorCode::kInvalid);
  options.node = "../n1";
  EXPECT_EQ(enrol(options).error().code, ErrorCode::kInvalid);
}

TEST(Enrol, AWrongServerKeyIsSeenAsSilence) {
  const Folder folder;
  const EnrolPort port({});
  EnrolOptions options = options_for(port, folder);
  options.server_key = make_key_pair().public_key;
  options.timeout = seconds(1);
  EXPECT_EQ(enrol(options).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace muster::testing
