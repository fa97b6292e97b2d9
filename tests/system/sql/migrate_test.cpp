// Migrations against a real server.
#include "controller/sql/migrate.h"

#include <thread>

#include "tests/system/sql/server.h"

namespace muster {
namespace {

class MigrateTest : public PostgresTest {};

TEST_F(MigrateTest, TwiceIsOnce) {
  const Result<Migrated> first = migrate(conninfo());
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_GE(first->version, 3);
  EXPECT_EQ(first->applied.size(), static_cast<std::size_t>(first->version));
  EXPECT_EQ(first->applied.front(), "0001_facts");
  const Result<Migrated> second = migrate(conninfo());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_TRUE(second->applied.empty());
  EXPECT_EQ(second->version, first->version);
  EXPECT_EQ(psql_value("select count(*) from muster.plans where is_default"), "1");
}

TEST_F(MigrateTest, AtOnceIsOnce) {
  std::vector<std::thread> threads;
  std::vector<int> applied(4, -1);
  for (std::size_t i = 0; i < applied.size(); ++i) {
    threads.emplace_back([&, i] {
      const Result<Migrated> done = migrate(conninfo());
      if (done.ok()) applied[i] = static_cast<int>(done->applied.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
  int total = 0;
  for (const int count : applied) {
    EXPECT_GE(count, 0);
    total += count;
  }
  EXPECT_EQ(std::to_string(total), psql_value("select max(version) from muster.schema_migrations"));
}

TEST_F(MigrateTest, ChangedMigrationIsRefused) {
  ASSERT_TRUE(migrate(conninfo()).ok());
  psql("update muster.schema_migrations set checksum = repeat('0', 64) where version = 2");
  const Result<Migrated> again = migrate(conninfo());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  EXPECT_NE(again.error().message.find("0002_prices was changed"), std::string::npos)
      << again.error().message;
}

TEST_F(MigrateTest, NewerDatabaseIsRefused) {
  ASSERT_TRUE(migrate(conninfo()).ok());
  psql(
      "insert into muster.schema_migrations (version, name, checksum) values (999, '0999_future', "
      "repeat('0', 64))");
  const Result<Migrated> again = migrate(conninfo());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kConflict);
  EXPECT_NE(again.error().message.find("use a newer release"), std::string::npos)
      << again.error().message;
}

TEST_F(MigrateTest, FailureLeavesNothing) {
  psql("create schema muster; create table muster.grants (x int)");
  const Result<Migrated> refused = migrate(conninfo());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("0001_facts"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(psql_value("select count(*) from pg_tables where schemaname = 'muster'"), "1");
}

TEST_F(MigrateTest, OrdinaryOwnerOfADatabaseMayMigrate) {
  psql(
      "do $$ begin if not exists (select from pg_roles where rolname = 'muster_test_owner') then "
      "create role muster_test_owner login; end if; end $$; alter database " +
      database_ + " owner to muster_test_owner");
  const Result<Migrated> done = migrate(conninfo("muster_test_owner"));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(
      psql_value(
          "select tableowner from pg_tables where schemaname = 'muster' and tablename = 'feed'"),
      "muster_test_owner");
}

TEST_F(MigrateTest, WrongEncodingIsRefused) {
  psql("create database latin encoding 'LATIN1' locale 'C' template template0");
  database_ = "latin";
  const Result<Migrated> refused = migrate(conninfo());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("needs UTF8"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace muster
