// One connection to PostgreSQL, without exceptions. Statements are embedded text with bound
// parameters; bulk goes by COPY. Not thread-safe: one thread's object.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"

namespace muster {

using SqlCell = std::optional<std::string>;  // Text form of a value; nothing is null.
using SqlRow = std::vector<SqlCell>;

// Rows for one COPY: cells row by row.
struct SqlSheet {
  std::string table;
  std::size_t columns = 0;
  std::vector<SqlCell> cells;
  std::size_t rows() const { return columns == 0 ? 0 : cells.size() / columns; }
};

// Errors: kUnavailable — no server, or it went away: connect anew and repeat. kConflict — the
// server refused a row or a lock. kInvalid — anything else it refused; the message is its own.
// After any error the object takes no more statements until rollback(); after kUnavailable it is
// dead.
class Database {
 public:
  // conninfo: as libpq takes it, "host=/run/postgresql dbname=muster". Gives up after 10 s unless
  // it says otherwise.
  static Result<Database> connect(const std::string& conninfo);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();  // Rolls back what was not committed.

  Result<void> begin();
  Result<void> commit();
  void rollback();

  // One statement, by the name of its text. Parameters are $1…; each value in text form.
  Result<std::vector<SqlRow>> query(std::string_view name,
                                    std::span<const SqlCell> parameters = {});
  // Several statements without parameters.
  Result<void> run(std::string_view name);
  Result<void> copy(const SqlSheet& sheet);

 private:
  struct Connection;
  explicit Database(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

// A bound parameter that is an array: {"a","b"}.
std::string sql_array(std::span<const std::string> values);
// The text as PostgreSQL can hold it: valid UTF-8 unchanged, NUL and bytes that are not UTF-8 as
// \xHH.
std::string storable_text(std::string_view text);

}  // namespace muster
