// libpqxx, 6 and 7, behind plain calls. The only file that includes it.
#include "controller/sql/database.h"

#include <array>
#include <exception>
#include <pqxx/pqxx>
#include <utility>

#include "controller/sql/embedded.h"

namespace muster {

struct Database::Connection {
  explicit Connection(const std::string& conninfo) : link(conninfo) {}
  pqxx::connection link;
  std::unique_ptr<pqxx::work> work;  // After link: must go first.
};

namespace {

// A server's message may have DETAIL and CONTEXT lines; an error is one line.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text) {
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return text;
}

// Calls body and turns what it throws into an Error.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const pqxx::broken_connection& broken) {
    return fail(ErrorCode::kUnavailable, one_line(std::string("database: ") + broken.what()));
  } catch (const pqxx::in_doubt_error& doubt) {
    return fail(ErrorCode::kUnavailable, one_line(std::string("database: ") + doubt.what()));
  } catch (const pqxx::sql_error& refused) {
    const std::string& state = refused.sqlstate();
    const std::string text = one_line(std::string("database: ") + refused.what());
    if (state.rfind("57", 0) == 0 || state.rfind("53", 0) == 0 || state.rfind("08", 0) == 0) {
      return fail(ErrorCode::kUnavailable, text);  // Shutting down, out of resources, connection.
    }
    const bool conflict =
        state.rfind("23", 0) == 0 || state.rfind("40", 0) == 0 || state.rfind("55", 0) == 0;
    return fail(conflict ? ErrorCode::kConflict : ErrorCode::kInvalid, text);
  } catch (const std::exception& other) {
    return fail(ErrorCode::kInvalid, one_line(std::string("database: ") + other.what()));
  }
}

std::string with_timeout(const std::string& conninfo) {
  const bool is_uri =
      conninfo.rfind("postgres://", 0) == 0 || conninfo.rfind("postgresql://", 0) == 0;
  if (is_uri || conninfo.find("connect_timeout") != std::string::npos) return conninfo;
  return "connect_timeout=10 " + conninfo;
}

using RawCells = std::vector<const char*>;

RawCells raw(std::span<const SqlCell> cells) {
  RawCells out;
  out.reserve(cells.size());
  for (const SqlCell& cell : cells) out.push_back(cell.has_value() ? cell->c_str() : nullptr);
  return out;
}

#if defined(PQXX_VERSION_MAJOR) && PQXX_VERSION_MAJOR >= 7
pqxx::result execute(pqxx::work& work, std::string_view text, std::span<const SqlCell> parameters) {
  pqxx::params bound;
  for (const char* value : raw(parameters)) {
    if (value == nullptr)
      bound.append();
    else
      bound.append(pqxx::zview(value));
  }
#if PQXX_VERSION_MAJOR > 7 || PQXX_VERSION_MINOR >= 10
  return work.exec(pqxx::zview(std::string(text)), bound);
#else
  return work.exec_params(pqxx::zview(std::string(text)), bound);
#endif
}

void stream(pqxx::work& work, const SqlSheet& sheet) {
  auto out = pqxx::stream_to::raw_table(work, work.conn().quote_name(sheet.table));
  for (std::size_t at = 0; at < sheet.cells.size(); at += sheet.columns) {
    out.write_row(raw(std::span(sheet.cells).subspan(at, sheet.columns)));
  }
  out.complete();
}
#else
pqxx::result execute(pqxx::work& work, std::string_view text, std::span<const SqlCell> parameters) {
  const RawCells bound = raw(parameters);
  return work.exec_params(std::string(text), pqxx::prepare::make_dynamic_params(bound));
}

// libpqxx 6 takes rows as tuples only: an array of the sheet's width is one.
template <std::size_t Columns>
void stream_rows(pqxx::stream_to& out, const SqlSheet& sheet) {
  std::array<const char*, Columns> row{};
  for (std::size_t at = 0; at < sheet.cells.size(); at += Columns) {
    for (std::size_t i = 0; i < Columns; ++i) {
      const SqlCell& cell = sheet.cells[at + i];
      row[i] = cell.has_value() ? cell->c_str() : nullptr;
    }
    out << row;
  }
}

constexpr std::size_t kColumnsMax = 32;

template <std::size_t... Less>
void stream_any(pqxx::stream_to& out, const SqlSheet& sheet, std::index_sequence<Less...>) {
  MUSTER_ASSERT(sheet.columns <= kColumnsMax);
  static_cast<void>(
      ((sheet.columns == Less + 1 && (stream_rows<Less + 1>(out, sheet), true)) || ...));
}

void stream(pqxx::work& work, const SqlSheet& sheet) {
  pqxx::stream_to out(work, sheet.table);
  stream_any(out, sheet, std::make_index_sequence<kColumnsMax>());
  out.complete();
}
#endif

std::vector<SqlRow> rows_of(const pqxx::result& result) {
  std::vector<SqlRow> rows;
  rows.reserve(static_cast<std::size_t>(result.size()));
  for (const auto& row : result) {
    SqlRow& cells = rows.emplace_back();
    for (const auto& field : row) {
      if (field.is_null())
        cells.emplace_back(std::nullopt);
      else
        cells.emplace_back(std::string(field.c_str(), static_cast<std::size_t>(field.size())));
    }
  }
  return rows;
}

}  // namespace

Database::Database(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

Result<Database> Database::connect(const std::string& conninfo) {
  return guarded([&]() -> Result<Database> {
    auto connection = std::make_unique<Connection>(with_timeout(conninfo));
    connection->link.set_client_encoding("UTF8");
    return Database(std::move(connection));
  });
}

Result<void> Database::begin() {
  MUSTER_ASSERT(connection_->work == nullptr);
  return guarded([&]() -> Result<void> {
    connection_->work = std::make_unique<pqxx::work>(connection_->link);
    return {};
  });
}

Result<void> Database::commit() {
  MUSTER_ASSERT(connection_->work != nullptr);
  Result<void> done = guarded([&]() -> Result<void> {
    connection_->work->commit();
    return {};
  });
  rollback();
  return done;
}

void Database::rollback() {
  connection_->work.reset();  // Its destructor rolls back and does not throw.
}

Result<std::vector<SqlRow>> Database::query(std::string_view name,
                                            std::span<const SqlCell> parameters) {
  MUSTER_ASSERT(connection_->work != nullptr);
  return guarded([&]() -> Result<std::vector<SqlRow>> {
    return rows_of(execute(*connection_->work, sql_text(name), parameters));
  });
}

Result<void> Database::run(std::string_view name) {
  MUSTER_ASSERT(connection_->work != nullptr);
  return guarded([&]() -> Result<void> {
    connection_->work->exec(std::string(sql_text(name)));
    return {};
  });
}

Result<void> Database::copy(const SqlSheet& sheet) {
  MUSTER_ASSERT(connection_->work != nullptr);
  MUSTER_ASSERT(sheet.columns != 0 && sheet.cells.size() % sheet.columns == 0);
  return guarded([&]() -> Result<void> {
    stream(*connection_->work, sheet);
    return {};
  });
}

}  // namespace muster
