// Log lines, notifications, signals, pid files and ends of daemons.
#include "base/daemon/daemon.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "base/daemon/log.h"

namespace muster {
namespace {

class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    char pattern[] = "/tmp/muster-daemon-XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~DaemonTest() override {
    static_cast<void>(open_log({}));
    std::filesystem::remove_all(folder_);
  }
  std::string text_of(const std::string& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // Runs what in a child; its exit status.
  template <class F>
  int in_child(F what) {
    const pid_t pid = fork();
    if (pid == 0) {
      what();
      _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  std::string folder_;
};

TEST_F(DaemonTest, OneMessageIsOneLineWhateverIsInIt) {
  const std::string path = folder_ + "/log";
  ASSERT_TRUE(open_log({path, LogLevel::kInfo}).ok());
  log_debug("not {}", "shown");
  log_info("job {} of {}", 17, "kim");
  log_error("{}", "a\nb\x1b[31m\r\xff fake line");
  log_warn("{}", std::string(100000, 'x'));
  const std::string text = text_of(path);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("job 17 of kim"), std::string::npos);
  EXPECT_NE(text.find("a\\nb\\x1b[31m"), std::string::npos);
  EXPECT_LT(text.size(), 10000U);
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 007U, 0U);
}

TEST_F(DaemonTest, ReopensTheFileAfterItWasMovedAway) {
  const std::string path = folder_ + "/log";
  ASSERT_TRUE(open_log({path, LogLevel::kInfo}).ok());
  log_info("first");
  std::filesystem::rename(path, path + ".1");
  log_info("second");
  ASSERT_TRUE(reopen_log().ok());
  log_info("third");
  EXPECT_NE(text_of(path + ".1").find("second"), std::string::npos);
  EXPECT_NE(text_of(path).find("third"), std::string::npos);
  EXPECT_FALSE(open_log({folder_ + "/none/log", LogLevel::kInfo}).ok());
  log_info("fourth");
  EXPECT_NE(text_of(path).find("fourth"), std::string::npos);
}

TEST_F(DaemonTest, ManyThreadsWriteWholeLines) {
  const std::string path = folder_ + "/log";
  ASSERT_TRUE(open_log({path, LogLevel::kInfo}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) log_info("thread {} line {} end", t, i);
    });
  }
  for (auto& thread : threads) thread.join();
  std::istringstream text(text_of(path));
  int lines = 0;
  for (std::string line; std::getline(text, line); ++lines) {
    EXPECT_EQ(line.substr(line.size() - 4), " end");
  }
  EXPECT_EQ(lines, 2000);
}

TEST_F(DaemonTest, NotifiesWhoAskedForIt) {
  const std::string path = folder_ + "/notify";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  setenv("NOTIFY_SOCKET", path.c_str(), 1);
  notify_ready("serving\nREADY=0");
  std::array<char, 512> text{};
  ASSERT_GT(recv(fd, text.data(), text.size(), MSG_DONTWAIT), 0);
  EXPECT_EQ(std::string(text.data()).rfind("READY=1\n", 0), 0U);
  EXPECT_NE(std::string(text.data()).find("STATUS=serving\\nREADY=0\n"), std::string::npos);
  notify_watchdog();
  text = {};
  ASSERT_GT(recv(fd, text.data(), text.size(), MSG_DONTWAIT), 0);
  EXPECT_STREQ(text.data(), "WATCHDOG=1\n");
  for (const char* bad : {"", "relative", "@"}) {
    setenv("NOTIFY_SOCKET", bad, 1);
    notify_stopping();
  }
  setenv("NOTIFY_SOCKET", std::string(300, '/').c_str(), 1);
  notify_stopping();
  unsetenv("NOTIFY_SOCKET");
  close(fd);
}

TEST_F(DaemonTest, WatchdogIsForThisProcessOnly) {
  EXPECT_FALSE(watchdog_interval().has_value());
  setenv("WATCHDOG_USEC", "20000000", 1);
  EXPECT_EQ(watchdog_interval(), seconds(10));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_FALSE(watchdog_interval().has_value());
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_TRUE(watchdog_interval().has_value());
  setenv("WATCHDOG_USEC", "-1", 1);
  EXPECT_FALSE(watchdog_interval().has_value());
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
}

TEST_F(DaemonTest, SignalsArriveAtTheDescriptorAndTheSecondStopEndsAtOnce) {
  const int status = in_child([] {
    SignalSource signals;
    raise(SIGHUP);
    if (signals.next() != DaemonSignal::kReload) _exit(1);
    raise(SIGTERM);
    if (signals.next() != DaemonSignal::kStop) _exit(2);
    if (signals.next().has_value()) _exit(3);
    raise(SIGINT);
    static_cast<void>(signals.next());
    _exit(4);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), kExitTempFail);
}

TEST_F(DaemonTest, BeginsWithoutCoreFilesAndWithManyDescriptors) {
  const int status = in_child([] {
    if (!begin_process({"muster-test", 2048, 64})) _exit(1);
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    if (limit.rlim_max != 0) _exit(2);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 1024) _exit(3);
    const mode_t mask = umask(0);
    if (mask != 077) _exit(4);
    if (begin_process({"muster-test", 64, 1ULL << 40U})) _exit(5);
  });
  EXPECT_EQ(status, 0);
}

TEST_F(DaemonTest, FatalSaysOneLineAndExits) {
  const std::string path = folder_ + "/log";
  const int status = in_child([&] {
    static_cast<void>(open_log({path, LogLevel::kError}));
    fatal(kExitConfig, "config.toml:3: unknown key\nx");
  });
  EXPECT_EQ(WEXITSTATUS(status), kExitConfig);
  EXPECT_NE(text_of(path).find("config.toml:3: unknown key\\nx"), std::string::npos);
}

TEST_F(DaemonTest, APidFileIsHeldByOne) {
  const std::string path = folder_ + "/pid";
  {
    auto held = PidFile::take(path);
    ASSERT_TRUE(held.ok()) << held.error().message;
    EXPECT_EQ(text_of(path), std::to_string(getpid()) + "\n");
    const auto second = PidFile::take(path);
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kConflict);
    EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(PidFile::take(path).ok());
  EXPECT_FALSE(PidFile::take(folder_ + "/none/pid").ok());
}

}  // namespace
}  // namespace muster
