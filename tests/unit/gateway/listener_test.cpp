// S06: who is at the other end, and who may hold the socket.
#include "submit/gateway/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace muster {
namespace {

class ListenerTest : public ::testing::Test {
 protected:
  ListenerTest() {
    char pattern[] = "/tmp/muster-listen-XXXXXX";
    folder_ = mkdtemp(pattern);
    chmod(folder_.c_str(), 0755);
    path_ = folder_ + "/gateway.sock";
  }
  ~ListenerTest() override { std::filesystem::remove_all(folder_); }

  static bool connect_to(const std::string& path, int* fd_out = nullptr) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const bool ok = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (fd_out != nullptr) {
      *fd_out = fd;
    }
    return ok;
  }

  // A child that becomes somebody by become(), connects, and stays until the answer is in.
  template <class Become>
  Result<Credentials> who_connects(Listener& listener, Become become) {
    int pipe_fds[2];
    EXPECT_EQ(pipe(pipe_fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      const bool ok = become() && connect_to(path_);
      const char byte = ok ? 'y' : 'n';
      if (write(pipe_fds[1], &byte, 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char byte = 'n';
    EXPECT_EQ(read(pipe_fds[0], &byte, 1), 1);
    Result<Credentials> who = fail(ErrorCode::kUnavailable, "could not connect");
    if (byte == 'y') {
      auto accepted = listener.accept_one();
      EXPECT_TRUE(accepted.ok() && accepted->has_value());
      who = (*accepted)->who;
      close((*accepted)->fd);
      EXPECT_TRUE(!who || who->pid == pid);
    }
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return who;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(ListenerTest, TheKernelSaysWho) {
  auto listener = Listener::open(path_, 0666);
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  EXPECT_FALSE(listener->accept_one()->has_value());
  setenv("UID", "0", 1);
  setenv("MUSTER_UID", "0", 1);
  const auto me = who_connects(*listener, [] { return true; });
  ASSERT_TRUE(me.ok());
  EXPECT_EQ(me->uid.value, geteuid());
  if (geteuid() != 0) return;
  const auto other = who_connects(*listener, [] {
    return setresgid(2345, 2345, 2345) == 0 && setresuid(1234, 1234, 1234) == 0;
  });
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->uid.value, 1234U);
  EXPECT_EQ(other->gid.value, 2345U);
}

TEST_F(ListenerTest, AnotherNamespacesRootIsItsRealUserAndNobodyIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become others";
  auto listener = Listener::open(path_, 0666);
  ASSERT_TRUE(listener.ok());
  const auto nobody = who_connects(*listener, [] { return setresuid(65534, 65534, 65534) == 0; });
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::kInvalid);
  const auto mapped_root = who_connects(*listener, [] {
    if (setresuid(1234, 1234, 1234) != 0 || unshare(CLONE_NEWUSER) != 0) return false;
    std::ofstream("/proc/self/uid_map") << "0 1234 1\n";
    return true;
  });
  EXPECT_TRUE(!mapped_root || mapped_root->uid.value == 1234);
}

TEST(Uids, OverflowAndUnsetAreNobody) {
  EXPECT_FALSE(check_uid({65534}, {65534}).ok());
  EXPECT_FALSE(check_uid({65534}, {99}).ok());
  EXPECT_FALSE(check_uid({99}, {99}).ok());
  EXPECT_FALSE(check_uid({UINT32_MAX}, {65534}).ok());
  EXPECT_TRUE(check_uid({0}, {65534}).ok());
  EXPECT_TRUE(check_uid({1000}, {65534}).ok());
}

TEST_F(ListenerTest, OneGatewayPerSocketAndADeadOnesIsReplaced) {
  {
    auto first = Listener::open(path_, 0600);
    ASSERT_TRUE(first.ok());
    struct stat facts {};
    ASSERT_EQ(stat(path_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0600U);
    const auto second = Listener::open(path_, 0600);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_TRUE(connect_to(path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(fd);
  EXPECT_TRUE(Listener::open(path_, 0666).ok());
}

TEST_F(ListenerTest, BadPlacesGetOneClearLine) {
  const auto too_long = Listener::open(folder_ + "/" + std::string(100, 'x'), 0666);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, ErrorCode::kInvalid);
  EXPECT_NE(too_long.error().message.find("107"), std::string::npos);
  EXPECT_FALSE(Listener::open("", 0666).ok());
  EXPECT_FALSE(Listener::open(folder_ + "/none/gateway.sock", 0666).ok());
  std::ofstream(path_) << "precious";
  const auto taken = Listener::open(path_, 0666);
  ASSERT_FALSE(taken.ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
}

}  // namespace
}  // namespace muster
