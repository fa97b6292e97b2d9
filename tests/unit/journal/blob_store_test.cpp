// Blobs: content comes back or the damage is named; packs change, end and go.
#include "controller/host/blob_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/unit/journal/scratch.h"

namespace muster {
namespace {

BlobOptions small() {
  BlobOptions options;
  options.pack_bytes = 64U << 10U;
  options.room_bytes = 16U << 10U;
  options.recent_max = 4;
  return options;
}

std::unique_ptr<BlobStore> open_store(const std::string& path,
                                      const BlobOptions& options = small()) {
  Result<std::unique_ptr<BlobStore>> store = BlobStore::open(path, options);
  EXPECT_TRUE(store.ok());
  return std::move(*store);
}

BlobRef put(BlobStore& store, const std::string& content) {
  const Result<BlobRef> ref = store.put(content);
  EXPECT_TRUE(ref.ok()) << (ref.ok() ? "" : ref.error().message);
  return ref.ok() ? *ref : BlobRef{};
}

TEST(BlobStore, RoundTripAndRestart) {
  const Scratch scratch;
  BlobRef first;
  BlobRef empty;
  {
    const auto store = open_store(scratch.path());
    first = put(*store, "#!/bin/bash\necho hello\n");
    empty = put(*store, "");
    EXPECT_TRUE(first.exists());
    EXPECT_TRUE(store->flush());
    EXPECT_EQ(*store->read(first), "#!/bin/bash\necho hello\n");
    EXPECT_EQ(*store->read(empty), "");
  }
  const auto store = open_store(scratch.path());
  const BlobRef second = put(*store, "another");
  EXPECT_GT(second.pack, first.pack);
  EXPECT_TRUE(store->flush());
  EXPECT_EQ(*store->read(first), "#!/bin/bash\necho hello\n");
  EXPECT_EQ(*store->read(second), "another");
}

TEST(BlobStore, SameContentIsStoredOnceWhileRecent) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  const BlobRef first = put(*store, "same");
  EXPECT_EQ(put(*store, "same"), first);
  EXPECT_TRUE(store->flush());
  EXPECT_EQ(put(*store, "same"), first);
  for (int i = 0; i < 3; ++i) put(*store, "other " + std::to_string(i));
  EXPECT_EQ(put(*store, "same"), first);  // Used, so the youngest again.
  for (int i = 0; i < 4; ++i) put(*store, "more " + std::to_string(i));
  EXPECT_NE(put(*store, "same"), first);
}

TEST(BlobStore, LimitsAreErrors) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  const Result<BlobRef> big = store->put(std::string(small().room_bytes + 1, 'x'));
  ASSERT_FALSE(big.ok());
  EXPECT_EQ(big.error().code, ErrorCode::kLimit);
}

TEST(BlobStore, BadReferencesAreErrors) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  BlobRef ref = put(*store, "content");
  EXPECT_TRUE(store->flush());
  EXPECT_EQ(store->read(BlobRef{}).error().code, ErrorCode::kNotFound);
  BlobRef wrong = ref;
  wrong.pack = 999;
  EXPECT_EQ(store->read(wrong).error().code, ErrorCode::kNotFound);
  wrong = ref;
  wrong.offset += 1;
  EXPECT_EQ(store->read(wrong).error().code, ErrorCode::kCorrupt);
  wrong = ref;
  wrong.size = 0xFFFFFFFFU;
  EXPECT_EQ(store->read(wrong).error().code, ErrorCode::kCorrupt);
  wrong = ref;
  wrong.offset = 1ULL << 62U;
  EXPECT_FALSE(store->read(wrong).ok());
}

TEST(BlobStore, FlippedByteIsSeen) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  const BlobRef ref = put(*store, "content");
  EXPECT_TRUE(store->flush());
  const std::string path = scratch.path() + "/pack-00000001";
  std::string bytes = bytes_of_file(path);
  bytes[ref.offset + 3] ^= 1;
  write_file(path, bytes);
  const Result<std::string> back = store->read(ref);
  ASSERT_FALSE(back.ok());
  EXPECT_EQ(back.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(back.error().message.find(path), std::string::npos);
}

TEST(BlobStore, PacksFollowEachOtherAndGo) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  std::vector<BlobRef> refs;
  for (int i = 0; i < 100; ++i) {
    refs.push_back(put(*store, std::to_string(i) + std::string(3000, 'x')));
    ASSERT_TRUE(store->flush());
    ASSERT_TRUE(store->make_room());
  }
  for (std::size_t i = 0; i < refs.size(); ++i) {
    const Result<std::string> back = store->read(refs[i]);
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_EQ(*back, std::to_string(i) + std::string(3000, 'x'));
  }
  const std::vector<std::uint32_t> packs = store->packs();
  ASSERT_GE(packs.size(), 5U);
  EXPECT_EQ(packs.back(), refs.back().pack);
  store->remove_pack(packs.front());  // Not retired: stays.
  EXPECT_EQ(store->packs(), packs);
  store->retire_pack(packs.front());
  store->retire_pack(packs.back());  // Being written: stays.
  store->remove_pack(packs.front());
  store->remove_pack(packs.back());
  EXPECT_EQ(store->packs().size(), packs.size() - 1);
  EXPECT_EQ(store->read(refs.front()).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(store->read(refs.back()).ok());
}

TEST(BlobStore, RetiredContentIsStoredAgain) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  const BlobRef old = put(*store, "kept by content");
  put(*store, std::string(16000, 'x'));
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(store->flush());
    ASSERT_TRUE(store->make_room());
    put(*store, std::to_string(i) + std::string(16000, 'y'));
    ASSERT_EQ(put(*store, "kept by content"), old);  // Still among the recent ones.
  }
  store->retire_pack(old.pack);
  const BlobRef anew = put(*store, "kept by content");
  EXPECT_NE(anew.pack, old.pack);
  ASSERT_TRUE(store->flush());
  store->remove_pack(old.pack);
  EXPECT_EQ(*store->read(anew), "kept by content");
  EXPECT_FALSE(store->read(old).ok());
}

TEST(BlobStore, PutsFromManyThreadsWaitForRoom) {
  const Scratch scratch;
  const auto store = open_store(scratch.path());
  std::atomic<bool> is_wanted{false};
  std::atomic<bool> is_done{false};
  store->when_room_wanted([&is_wanted] { is_wanted = true; });
  std::thread disk([&] {
    while (!is_done) {
      if (!is_wanted.exchange(false)) {
        std::this_thread::yield();
        continue;
      }
      EXPECT_TRUE(store->flush());
      EXPECT_TRUE(store->make_room());
    }
  });
  std::vector<std::thread> threads;
  std::vector<std::vector<BlobRef>> refs(3);
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        refs[t].push_back(
            put(*store, std::string(2000, static_cast<char>('a' + t)) + std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  disk.join();
  ASSERT_TRUE(store->flush());
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < 100; ++i) {
      ASSERT_EQ(*store->read(refs[t][i]),
                std::string(2000, static_cast<char>('a' + t)) + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace muster
