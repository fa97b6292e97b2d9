// Digests see every field and are the same on every machine; random numbers depend on the seed
// alone.
#include "base/types/digest.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/types/cause.h"
#include "base/types/job_spec.h"
#include "base/types/rng.h"

namespace muster {
namespace {

struct Small {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::vector<std::string> list;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "a", self.a);
    visit(2, "b", self.b);
    visit(3, "list", self.list);
  }
};

TEST(Digest, IsPinned) {
  // A change here breaks the comparison of snapshots written by an older release.
  EXPECT_EQ(mix64(1), 0x5692161d100b05e5ULL);
  EXPECT_EQ(hash64("muster"), hash64(std::string("mus") + "ter"));
  EXPECT_EQ(digest_of(Small{}), 0U);
  EXPECT_EQ(digest_of(Small{1, 2, {"x"}}), digest_of(Small{1, 2, {"x"}}));
}

TEST(Digest, TellsFieldsApart) {
  const std::set<std::uint64_t> digests{digest_of(Small{1, 0, {}}),
                                        digest_of(Small{0, 1, {}}),
                                        digest_of(Small{1, 1, {}}),
                                        digest_of(Small{0, 0, {""}}),
                                        digest_of(Small{0, 0, {"", ""}}),
                                        digest_of(Small{0, 0, {"a", "b"}}),
                                        digest_of(Small{0, 0, {"b", "a"}}),
                                        digest_of(Small{0, 0, {"ab"}}),
                                        digest_of(Small{})};
  EXPECT_EQ(digests.size(), 9U);
}

TEST(Digest, CoversTheRealTypes) {
  JobSpec spec;
  spec.groups.resize(1);
  const std::uint64_t before = digest_of(spec);
  spec.groups[0].gpus_per_node = 4;
  EXPECT_NE(digest_of(spec), before);
  EXPECT_NE(digest_of(ExitRecord{}), digest_of(JobSpec{spec}));
  BlobRef ref;
  const std::uint64_t empty = digest_of(ref);
  ref.hash.bytes[31] = 1;
  EXPECT_NE(digest_of(ref), empty);
}

TEST(Rng, DependsOnTheSeedAlone) {
  Rng a(42);
  Rng b(42);
  Rng c(43);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
  EXPECT_EQ(Rng(0).next(),
            11091344671253066420ULL);  // The reference xoshiro256** seeded by splitmix64.
}

TEST(Rng, DrawsEvenly) {
  Rng rng(5);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70000; ++i) ++seen[rng.below(7)];
  for (const int count : seen) EXPECT_NEAR(count, 10000, 500);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t drawn = rng.between(3, 5);
    EXPECT_TRUE(drawn >= 3 && drawn <= 5);
  }
  EXPECT_FALSE(rng.chance(0));
  EXPECT_TRUE(rng.chance(1000));
}

}  // namespace
}  // namespace muster
