// Orders survive the trip, and nothing but exactly what was signed is accepted (faults.md S03,
// S05).
#include "base/order/order.h"

#include <gtest/gtest.h>

#include "base/order/signing.h"
#include "tests/unit/order/sample_order.h"

namespace muster {
namespace {

using testing::sample_common;
using testing::sample_go;
using testing::sample_node;

class OrderTest : public ::testing::Test {
 protected:
  OrderTest() : key_(SigningKey::generate(7)) {
    keys_.keys.push_back(key_.pinned());
    common_ = *encode_order(sample_common());
    node_ = *encode_order(sample_node(common_));
    go_ = *encode_order(sample_go());
  }
  bool accepts(OrderKind kind, const std::string& bytes, const Signature& signature) const {
    return verify_order(keys_, kind, bytes, signature).ok();
  }

  SigningKey key_;
  PinnedKeys keys_;
  std::string common_;
  std::string node_;
  std::string go_;
};

TEST_F(OrderTest, DecodesToWhatWasEncoded) {
  EXPECT_EQ(*decode_common_order(common_), sample_common());
  EXPECT_EQ(*decode_node_order(node_), sample_node(common_));
  EXPECT_EQ(*decode_go_order(go_), sample_go());
}

TEST_F(OrderTest, AcceptsItsOwnSignature) {
  EXPECT_TRUE(accepts(OrderKind::kCommon, common_, key_.sign(OrderKind::kCommon, common_)));
  EXPECT_TRUE(accepts(OrderKind::kNode, node_, key_.sign(OrderKind::kNode, node_)));
  EXPECT_TRUE(accepts(OrderKind::kGo, go_, key_.sign(OrderKind::kGo, go_)));
}

TEST_F(OrderTest, RefusesEveryFlippedBit) {
  const Signature signature = key_.sign(OrderKind::kCommon, common_);
  for (std::size_t bit = 0; bit < common_.size() * 8; ++bit) {
    std::string bent = common_;
    bent[bit / 8] = static_cast<char>(static_cast<unsigned char>(bent[bit / 8]) ^ (1U << bit % 8));
    ASSERT_FALSE(accepts(OrderKind::kCommon, bent, signature)) << "bit " << bit;
  }
  for (std::size_t bit = 0; bit < signature.bytes.size() * 8; ++bit) {
    Signature bent = signature;
    bent.bytes[bit / 8] = static_cast<std::uint8_t>(bent.bytes[bit / 8] ^ (1U << bit % 8));
    ASSERT_FALSE(accepts(OrderKind::kCommon, common_, bent)) << "signature bit " << bit;
  }
}

TEST_F(OrderTest, RefusesEveryTruncationAndExtension) {
  const Signature signature = key_.sign(OrderKind::kCommon, common_);
  for (std::size_t size = 0; size < common_.size(); ++size) {
    ASSERT_FALSE(accepts(OrderKind::kCommon, common_.substr(0, size), signature));
    ASSERT_FALSE(decode_common_order(std::string_view(common_).substr(0, size)).ok());
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::string longer = common_ + static_cast<char>(byte);
    ASSERT_FALSE(accepts(OrderKind::kCommon, longer, signature));
    ASSERT_FALSE(decode_common_order(longer).ok());
  }
}

TEST_F(OrderTest, SignatureOfOneKindIsNotGoodForAnother) {
  const Signature signature = key_.sign(OrderKind::kCommon, common_);
  EXPECT_FALSE(accepts(OrderKind::kNode, common_, signature));
  EXPECT_FALSE(accepts(OrderKind::kGo, common_, signature));
  EXPECT_FALSE(decode_node_order(common_).ok());
  EXPECT_FALSE(decode_common_order(node_).ok());
}

TEST_F(OrderTest, RefusesKeysThatAreNotPinned) {
  const SigningKey stranger = SigningKey::generate(7);
  EXPECT_FALSE(accepts(OrderKind::kCommon, common_, stranger.sign(OrderKind::kCommon, common_)));
  CommonOrder order = sample_common();
  order.key_id = 8;
  const std::string bytes = *encode_order(order);
  EXPECT_FALSE(accepts(OrderKind::kCommon, bytes, key_.sign(OrderKind::kCommon, bytes)));
}

TEST_F(OrderTest, NodePartIsBoundToItsCommonPart) {
  CommonOrder other = sample_common();
  other.uid = Uid{1004};
  const std::string spliced = *encode_order(other);
  EXPECT_NE(decode_node_order(node_)->common_hash, content_hash(spliced));
  EXPECT_EQ(decode_node_order(node_)->common_hash, content_hash(common_));
}

TEST_F(OrderTest, RefusesWhatContradictsItself) {
  const auto refuses = [](auto change) {
    CommonOrder order = sample_common();
    change(order);
    return !encode_order(order).ok();
  };
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.members.clear(); }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.members[1].rank_first = 5; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.members[1].tasks = 0; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.members[0].node = "../n1"; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.launch.cwd = "relative"; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.launch.umask_bits = 01000; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.uid = Uid{0xffffffffU}; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.script_size = 0; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.ports = 65; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.time_limit_s = -1; }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.job_name = std::string("a\0b", 3); }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.job_name.assign(129, 'x'); }));
  EXPECT_TRUE(refuses([](CommonOrder& o) { o.launch.argv.assign(3, std::string(60000, 'x')); }));
}

TEST_F(OrderTest, TakesNoMemoryForACountThatIsALie) {
  for (std::size_t at = 0; at + 4 <= common_.size(); ++at) {
    std::string bent = common_;
    bent.replace(at, 4, "\xff\xff\xff\xff");
    const Result<CommonOrder> order = decode_common_order(bent);
    if (order.ok()) {
      ASSERT_EQ(*encode_order(*order), bent);
    }
  }
}

TEST(OrderTime, AllowsAMinuteOfSkewAndNoMore) {
  EXPECT_TRUE(check_order_time(1000, 1120, 1000).ok());
  EXPECT_TRUE(check_order_time(1000, 1120, 940).ok());
  EXPECT_FALSE(check_order_time(1000, 1120, 939).ok());
  EXPECT_TRUE(check_order_time(1000, 1120, 1180).ok());
  EXPECT_FALSE(check_order_time(1000, 1120, 1181).ok());
}

TEST(PinnedKeysFile, RoundTripsAndNamesTheBadLine) {
  PinnedKeys keys;
  keys.cluster.bytes[3] = 9;
  keys.keys.push_back(SigningKey::generate(1).pinned());
  keys.keys.push_back(SigningKey::generate(2).pinned());
  const Result<PinnedKeys> parsed = parse_pinned_keys("# ours\n" + pinned_keys_text(keys));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->cluster, keys.cluster);
  ASSERT_EQ(parsed->keys.size(), 2U);
  EXPECT_EQ(parsed->keys[1].key, keys.keys[1].key);
  EXPECT_FALSE(parse_pinned_keys("").ok());
  const std::string good = pinned_keys_text(keys);
  for (const char* bad : {"key 3 zz\n", "key x\n", "nonsense\n", "key 1 00\n", "cluster 1\n"}) {
    const Result<PinnedKeys> refused = parse_pinned_keys(good + bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_NE(refused.error().message.find("line 4"), std::string::npos);
  }
}

TEST(SigningKeyFile, SeedGivesTheSameKey) {
  const SigningKey key = SigningKey::generate(3);
  const Result<SigningKey> again = SigningKey::from_seed(3, key.seed());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->pinned().key, key.pinned().key);
  EXPECT_FALSE(SigningKey::from_seed(3, "short").ok());
}

}  // namespace
}  // namespace muster
