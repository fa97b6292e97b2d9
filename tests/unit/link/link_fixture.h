// A server and clients of one process for the link tests.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/link/link.h"
#include "base/link/poller.h"

namespace muster {

class LinkTest : public ::testing::Test {
 protected:
  LinkTest() {
    auto started = Authenticator::start(server_context_, access_, [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    });
    EXPECT_TRUE(started.ok());
    authenticator_ = std::move(*started);
  }

  std::unique_ptr<ServerSocket> serve(LinkRole domain) {
    ServerOptions options;
    options.endpoint = "tcp://127.0.0.1:*";
    options.domain = domain;
    options.key = server_key_;
    options.pending_bytes_max = pending_bytes_max_;
    auto opened = ServerSocket::open(*authenticator_, options);
    EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
    return std::move(*opened);
  }

  std::unique_ptr<ClientSocket> connect(const ServerSocket& server, const KeyPair& key) {
    ClientOptions options;
    options.endpoint = server.endpoint();
    options.server_key = server_key_.public_key;
    options.key = key;
    auto opened = ClientSocket::open(client_context_, options);
    EXPECT_TRUE(opened.ok()) << (opened ? "" : opened.error().message);
    return std::move(*opened);
  }

  // Turns both ends until done() or the time is up.
  template <class Done>
  bool turn(ServerSocket& server, ClientSocket* client, Done done, int ms = 5000) {
    Poller poller;
    poller.watch(server);
    if (client != nullptr) poller.watch(*client);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::chrono::steady_clock::now() < until) {
      poller.wait(20);
      while (auto inbound = server.receive()) inbox_.push_back(std::move(*inbound));
      while (client != nullptr) {
        auto answer = client->receive();
        if (!answer) break;
        answers_.push_back(std::move(*answer));
      }
      if (done()) return true;
    }
    return false;
  }

  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::size_t pending_bytes_max_ = 64U << 20U;
  KeyPair server_key_ = make_key_pair();
  AccessList access_;
  LinkContext server_context_;
  LinkContext client_context_;
  std::unique_ptr<Authenticator> authenticator_;
  std::vector<Inbound> inbox_;
  std::vector<std::string> answers_;
};

}  // namespace muster
