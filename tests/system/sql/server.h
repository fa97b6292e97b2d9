// A private PostgreSQL server for the tests of this program, and a fresh database for each.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {

// Runs a shell command; its standard output. Fails the test when it exits with anything but 0.
std::string shell(const std::string& command);

class PostgresTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();
  void SetUp() override;

  static void stop_server(const std::string& mode);  // "fast" or "immediate".
  static void start_server();
  static std::string server_directory();

  std::string conninfo(const std::string& role = "postgres") const;
  // One statement by psql; lines of the answer, columns joined by "|".
  std::vector<std::string> psql(const std::string& statement) const;
  std::string psql_value(const std::string& statement) const;  // The only value of the answer.
  std::string dump()
      const;  // All facts of the schema in a stable order, without the cluster's number.

  std::string database_;
};

}  // namespace muster
