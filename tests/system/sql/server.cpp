// Starts and stops the server by tests/system/postgres.sh, which other tests use too.
#include "tests/system/sql/server.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

// libpqxx 6 drops one result of libpq when the server dies under a COPY.
extern "C" const char* __lsan_default_suppressions();  // NOLINT
extern "C" const char* __lsan_default_suppressions() { return "leak:libpqxx"; }  // NOLINT

namespace muster {
namespace {

std::string directory;
int databases = 0;

std::string script(const std::string& arguments) {
  return shell(std::string(MUSTER_SOURCE_DIR) + "/tests/system/postgres.sh " + arguments);
}

}  // namespace

std::string shell(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "popen failed";
    return {};
  }
  std::string out;
  std::array<char, 65536> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    out.append(buffer.data(), n);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command;
  return out;
}

void PostgresTest::SetUpTestSuite() {
  if (!directory.empty()) return;
  std::string pattern = "/tmp/mpgXXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  directory = pattern;
  start_server();
}

void PostgresTest::TearDownTestSuite() {
  if (directory.empty()) return;
  if (std::getenv("MUSTER_TEST_KEEP") == nullptr) script("remove " + directory);
  directory.clear();
}

void PostgresTest::stop_server(const std::string& mode) {
  script("stop " + directory + " " + mode);
}
void PostgresTest::start_server() { script("start " + directory); }
std::string PostgresTest::server_directory() { return directory; }

void PostgresTest::SetUp() {
  database_ = "postgres";
  const std::string name = "t" + std::to_string(++databases);
  psql("create database " + name + " template template0");
  database_ = name;
}

std::string PostgresTest::conninfo(const std::string& role) const {
  return "host=" + directory + "/s user=" + role + " dbname=" + database_;
}

std::vector<std::string> PostgresTest::psql(const std::string& statement) const {
  const std::string path = directory + "/statement.sql";
  std::ofstream(path) << statement;
  const std::string out = shell("psql -XqAt -v ON_ERROR_STOP=1 '" + conninfo() + "' -f " + path);
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < out.size();) {
    const std::size_t end = std::min(out.find('\n', from), out.size());
    lines.push_back(out.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

std::string PostgresTest::psql_value(const std::string& statement) const {
  const std::vector<std::string> lines = psql(statement);
  EXPECT_EQ(lines.size(), 1U) << statement;
  return lines.empty() ? std::string() : lines.front();
}

std::string PostgresTest::dump() const {
  return shell(
      "pg_dump --data-only --inserts --schema muster --exclude-table muster.schema_migrations"
      " --exclude-table muster.feed --exclude-table muster.feed_gaps '" +
      conninfo() + "' | grep ^INSERT | sed 's/VALUES ([0-9]*,/VALUES (N,/' | sort");
}

}  // namespace muster
