// Migrations: what is embedded, compared with what the database says was applied.
#include "controller/sql/migrate.h"

#include <charconv>

#include "controller/sql/database.h"
#include "controller/sql/embedded.h"

namespace muster {
namespace {

constexpr std::string_view kFolder = "migrations/";

struct Migration {
  int version = 0;
  std::string name;       // "0001_facts"
  std::string_view path;  // "migrations/0001_facts"
  std::string checksum;
};

int version_of(std::string_view name) {
  int version = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), version);
  MUSTER_ASSERT(parsed.ec == std::errc() && version > 0);
  return version;
}

Result<std::vector<Migration>> list_embedded(Database& database) {
  std::vector<Migration> list;
  for (const EmbeddedSql& file : embedded_sql()) {
    if (!file.name.starts_with(kFolder)) continue;
    const std::string_view name = file.name.substr(kFolder.size());
    const SqlCell text{std::string(file.text)};
    Result<std::vector<SqlRow>> sum =
        database.query("queries/migrate_checksum", std::span(&text, 1));
    if (!sum) return sum.error();
    list.push_back({version_of(name), std::string(name), file.name, sum->at(0).at(0).value_or("")});
  }
  return list;
}

// How many of ours are applied already. They must be the first ones, unchanged.
Result<std::size_t> count_applied(Database& database, const std::vector<Migration>& ours) {
  Result<std::vector<SqlRow>> rows = database.query("queries/migrate_list");
  if (!rows) return rows.error();
  for (std::size_t i = 0; i < rows->size(); ++i) {
    const SqlRow& row = (*rows)[i];
    const std::string version = row.at(0).value_or("");
    if (i >= ours.size()) {
      return fail(ErrorCode::kConflict, "migrate: the database has version " + version + " (" +
                                            row.at(1).value_or("") + "), this program knows " +
                                            std::to_string(ours.size()) + "; use a newer release");
    }
    if (version != std::to_string(ours[i].version) || row.at(2) != ours[i].checksum) {
      return fail(ErrorCode::kConflict,
                  "migrate: " + row.at(1).value_or("") +
                      " was changed after it had been applied; a mend needs a new migration");
    }
  }
  return rows->size();
}

Result<void> apply(Database& database, const Migration& migration) {
  if (Result<void> ran = database.run(migration.path); !ran) {
    return fail(ran.error().code, "migrate: " + migration.name + ": " + ran.error().message);
  }
  const SqlRow facts{std::to_string(migration.version), migration.name, migration.checksum};
  Result<std::vector<SqlRow>> recorded = database.query("queries/migrate_record", facts);
  if (!recorded) return recorded.error();
  return {};
}

Result<Migrated> migrate_within(Database& database) {
  if (Result<std::vector<SqlRow>> locked = database.query("queries/migrate_lock"); !locked)
    return locked.error();
  if (Result<void> ready = database.run("bootstrap"); !ready) return ready.error();
  Result<std::vector<Migration>> ours = list_embedded(database);
  if (!ours) return ours.error();
  const Result<std::size_t> applied = count_applied(database, *ours);
  if (!applied) return applied.error();
  Migrated done;
  for (std::size_t i = *applied; i < ours->size(); ++i) {
    if (Result<void> result = apply(database, (*ours)[i]); !result) return result.error();
    done.applied.push_back((*ours)[i].name);
  }
  done.version = ours->empty() ? 0 : ours->back().version;
  if (Result<void> granted = database.run("grants"); !granted) return granted.error();
  return done;
}

}  // namespace

Result<Migrated> migrate(const std::string& conninfo) {
  Result<Database> database = Database::connect(conninfo);
  if (!database) return database.error();
  if (Result<void> begun = database->begin(); !begun) return begun.error();
  Result<Migrated> done = migrate_within(*database);
  if (!done) return done;
  if (Result<void> kept = database->commit(); !kept) return kept.error();
  return done;
}

}  // namespace muster
