// The worker's configuration: what is read, and how wrong files are refused.
#include "worker/host/worker_config.h"

#include <gtest/gtest.h>

#include <fstream>

namespace muster {
namespace {

std::string file_with(const std::string& text) {
  const std::string path = testing::TempDir() + "/worker.toml";
  std::ofstream(path) << text;
  return path;
}

std::string problem_of(const std::string& text) {
  WorkerConfig config;
  const Result<void> read = read_worker_config(file_with(text), config);
  return read.ok() ? "" : read.error().message;
}

TEST(WorkerConfig, IsReadWhole) {
  WorkerConfig config;
  const Result<void> read = read_worker_config(file_with(R"(
node = "n1"
controller = "tcp://127.0.0.1:7301"
bulk = "tcp://127.0.0.1:7303"
server_key = "key"
key_file = "/k"
launcher = "/l"
state_dir = "/s"
[gpu]
plugin = "fake"
config = "/g.toml"
deadline = "5s"
[resources]
cpus = 4
memory = "8G"
features = ["ib"]
[network]
interface = "lo"
[log]
level = "debug"
)"),
                                               config);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(config.node, "n1");
  EXPECT_EQ(config.gpu_deadline, seconds(5));
  EXPECT_EQ(config.memory_mib, 8192U);
  EXPECT_EQ(config.features, std::vector<std::string>{"ib"});
  EXPECT_TRUE(check_worker_config(config).ok());
}

TEST(WorkerConfig, ErrorsNameFileAndLine) {
  EXPECT_NE(problem_of("node = \"n1\"\nlauncer = \"x\"\n")
                .find("line 2: unknown key \"launcer\"; did you mean "
                      "\"launcher\"?"),
            std::string::npos)
      << problem_of("node = \"n1\"\nlauncer = \"x\"\n");
  EXPECT_NE(problem_of("[resources]\ncpus = \"four\"\n").find("line 2"), std::string::npos);
  EXPECT_NE(problem_of("[resources]\ncpus = -1\n").find("line 2"), std::string::npos);
  EXPECT_NE(problem_of("[resources]\nmemory = \"lots\"\n").find("line 2"), std::string::npos);
  EXPECT_NE(problem_of("gpu = 3\n").find("expected a section"), std::string::npos);
  EXPECT_NE(problem_of("node = \n").find("line 1"), std::string::npos);
  EXPECT_FALSE(problem_of("[gpu]\ndeadline = \"soon\"\n").empty());
  WorkerConfig config;
  EXPECT_EQ(read_worker_config("/nonexistent/x.toml", config).error().code, ErrorCode::kNotFound);
}

TEST(WorkerConfig, MissingThingsAreNamed) {
  WorkerConfig config;
  config.node = "bad name";
  EXPECT_NE(check_worker_config(config).error().message.find("node"), std::string::npos);
  config.node = "n1";
  EXPECT_EQ(check_worker_config(config).error().message, "controller is missing");
}

}  // namespace
}  // namespace muster
