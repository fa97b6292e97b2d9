// Two peers over a link that loses, repeats, reorders and cuts, by seed: what one incarnation sends
// to another arrives exactly once and in order, and once the link heals everything arrives.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/session/session.h"
#include "base/types/rng.h"

namespace muster {
namespace {

struct Peer {
  std::unique_ptr<Session> session;
  std::uint64_t sent = 0;  // Messages queued to the current peer incarnation.
  std::uint64_t received = 0;
  std::uint64_t delivered_all = 0;  // Over all incarnations.
};

class World {
 public:
  explicit World(std::uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 2; ++i) start(i);
  }

  void run() {
    loss_ = static_cast<std::uint32_t>(rng_.below(300));
    repeat_ = static_cast<std::uint32_t>(rng_.below(200));
    const auto restart = static_cast<std::uint32_t>(rng_.below(6));
    for (int step = 0; step < 600; ++step) {
      now_ = now_ + milliseconds(static_cast<std::int64_t>(rng_.below(400)));
      for (int i = 0; i < 2; ++i) act(i, restart);
    }
    heal();
  }

 private:
  void start(int i) {
    SessionLimits limits;
    limits.flight_parts_max = 1 + rng_.below(20);
    peers_[i].session = std::make_unique<Session>(++incarnation_, limits);
    peers_[i].sent = peers_[i].received = 0;
    if (i == 0) peers_[i].session->reconnect();
  }

  void act(int i, std::uint32_t restart) {
    if (rng_.chance(restart)) start(i);
    if (rng_.chance(20)) cut();
    for (std::uint64_t n = rng_.below(4); n > 0; --n) queue_message(i);
    put_on_link(i);
    for (std::uint64_t n = rng_.below(8); n > 0 && !links_[i].empty(); --n) take_from_link(i);
  }

  // The connection is made anew: what was on its way is gone.
  void cut() {
    links_[0].clear();
    links_[1].clear();
    peers_[0].session->reconnect();
  }

  void queue_message(int i) {
    Peer& peer = peers_[i];
    Session& session = *peer.session;
    if (!session.knows_peer()) return;
    const std::string text = std::to_string(session.incarnation()) + ">" +
                             std::to_string(session.peer_incarnation()) + ":" +
                             std::to_string(peer.sent + 1);
    std::string padding;
    if (rng_.chance(10)) padding.resize(kPacketPayloadMax * rng_.below(3) + rng_.below(5), '.');
    if (session.send(text + padding).ok()) ++peer.sent;
  }

  void put_on_link(int i) {
    for (std::string& packet : peers_[i].session->take_outgoing(now_)) {
      if (rng_.chance(loss_)) continue;
      if (rng_.chance(repeat_)) links_[1 - i].push_back(packet);
      links_[1 - i].push_back(std::move(packet));
    }
  }

  void take_from_link(int i) {
    std::vector<std::string>& link = links_[i];
    const std::size_t at = rng_.chance(800) ? 0 : rng_.below(link.size());
    const std::string packet = std::move(link[at]);
    link.erase(link.begin() + static_cast<std::ptrdiff_t>(at));
    Peer& peer = peers_[i];
    const auto received = peer.session->receive(packet);
    if (!received.ok()) {
      ASSERT_EQ(received.error().code, ErrorCode::kConflict) << received.error().message;
      return;
    }
    if (received->fresh) peer.sent = peer.received = 0;
    for (const std::string& payload : received->payloads) check(peer, payload);
  }

  void check(Peer& peer, const std::string& payload) {
    ++peer.received;
    ++peer.delivered_all;
    const std::string expected = std::to_string(peer.session->peer_incarnation()) + ">" +
                                 std::to_string(peer.session->incarnation()) + ":" +
                                 std::to_string(peer.received);
    ASSERT_EQ(payload.substr(0, payload.find('.')), expected);
  }

  void heal() {
    loss_ = repeat_ = 0;
    for (int round = 0; round < 3000; ++round) {
      now_ = now_ + seconds(1);
      for (int i = 0; i < 2; ++i) {
        put_on_link(i);
        while (!links_[i].empty() && !testing::Test::HasFatalFailure()) take_from_link(i);
      }
    }
    ASSERT_EQ(peers_[0].session->peer_incarnation(), peers_[1].session->incarnation());
    ASSERT_EQ(peers_[1].session->peer_incarnation(), peers_[0].session->incarnation());
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(peers_[i].session->is_idle());
      EXPECT_EQ(peers_[i].sent, peers_[1 - i].received);
    }
  }

  Rng rng_;
  Instant now_;
  std::uint64_t incarnation_ = 0;
  std::uint32_t loss_ = 0;
  std::uint32_t repeat_ = 0;
  Peer peers_[2];
  std::vector<std::string> links_[2];  // On their way to that peer.
};

TEST(Session, ExactlyOnceInOrderOverAnyLink) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace muster
