// Key files: made once, private, whole.
#include "base/link/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

namespace muster {
namespace {

class KeysTest : public ::testing::Test {
 protected:
  KeysTest() {
    char pattern[] = "/tmp/muster-keys-XXXXXX";
    folder_ = mkdtemp(pattern);
    path_ = folder_ + "/key";
  }
  ~KeysTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  std::string folder_;
  std::string path_;
};

TEST_F(KeysTest, MadeOnceWithMode0600ThenLoaded) {
  const auto made = load_or_make_key(path_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0600U);
  const auto again = load_or_make_key(path_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->secret_key, made->secret_key);
  EXPECT_EQ(*public_key_from(path_), made->public_key);
  EXPECT_EQ(*public_key_from(made->public_key), made->public_key);
}

TEST_F(KeysTest, ManyMakersAgreeOnOneKey) {
  std::vector<std::string> keys(8);
  std::vector<std::thread> threads;
  for (auto& key : keys) {
    threads.emplace_back([&] {
      if (auto pair = load_or_make_key(path_)) key = pair->public_key;
    });
  }
  for (auto& thread : threads) thread.join();
  const auto final_key = load_key(path_);
  ASSERT_TRUE(final_key.ok());
  for (const auto& key : keys) EXPECT_EQ(key, final_key->public_key);
}

TEST_F(KeysTest, RefusesLooseModesLinksAndFolders) {
  ASSERT_TRUE(load_or_make_key(path_).ok());
  for (const mode_t mode : {0640U, 0604U, 0620U, 0700U, 0666U}) {
    chmod(path_.c_str(), mode);
    const auto loaded = load_key(path_);
    ASSERT_FALSE(loaded.ok()) << std::oct << mode;
    EXPECT_EQ(loaded.error().code, ErrorCode::kInvalid);
  }
  chmod(path_.c_str(), 0600);
  const std::string alias = folder_ + "/alias";
  ASSERT_EQ(symlink(path_.c_str(), alias.c_str()), 0);
  EXPECT_EQ(load_key(alias).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(load_key(folder_).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(load_key(folder_ + "/none").error().code, ErrorCode::kNotFound);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path_.c_str(), 12345, 12345), 0);
    EXPECT_EQ(load_key(path_).error().code, ErrorCode::kInvalid);
  }
}

TEST_F(KeysTest, RefusesGarbageAndHalvesThatDoNotMatch) {
  const KeyPair a = make_key_pair();
  const KeyPair b = make_key_pair();
  for (const std::string& text :
       {std::string(), std::string("public-key"), "public-key " + a.public_key,
        "public-key " + a.public_key + "\nsecret-key " + b.secret_key + "\n",
        std::string("public-key x\nsecret-key y\n"), std::string(5000, 'x'),
        std::string("\0\xff\n", 3)}) {
    write(text);
    EXPECT_FALSE(load_key(path_).ok()) << text.substr(0, 100);
  }
  write("public-key " + a.public_key + "\nsecret-key " + a.secret_key + "\n");
  EXPECT_TRUE(load_key(path_).ok());
}

TEST_F(KeysTest, ErrorsNeverNameASecret) {
  const KeyPair a = make_key_pair();
  const KeyPair b = make_key_pair();
  write("public-key " + a.public_key + "\nsecret-key " + b.secret_key + "\n");
  EXPECT_EQ(load_key(path_).error().message.find(b.secret_key), std::string::npos);
}

TEST(PublicKey, IsChecked) {
  EXPECT_TRUE(check_public_key(make_key_pair().public_key).ok());
  for (const std::string& text :
       {std::string(), std::string(39, 'a'), std::string(41, 'a'), std::string(40, ' '),
        std::string(40, '\0'), std::string(40, '#'), std::string(40, '~')}) {
    EXPECT_FALSE(check_public_key(text).ok()) << text;
  }
}

}  // namespace
}  // namespace muster
