// The accounting query and its rows.
#include "controller/sql/accounting.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster {
namespace {

template <class T>
void read_number(const SqlCell& cell, T& out) {
  if (!cell.has_value()) return;
  std::from_chars(cell->data(), cell->data() + cell->size(), out);
}

// Cells of one row, taken from left to right in the order of sql/queries/accounting.sql.
class RowReader {
 public:
  explicit RowReader(const SqlRow& row) : row_(row) {}
  template <class T>
  void number(T& out) {
    read_number(next(), out);
  }
  void text(std::string& out) { out = next().value_or(""); }
  void flag(bool& out) { out = next() == "t"; }
  void list(std::vector<std::string>& out);

 private:
  const SqlCell& next() { return row_.at(at_++); }
  const SqlRow& row_;
  std::size_t at_ = 0;
};

// Values are joined by U+001F, which no name of ours holds.
void RowReader::list(std::vector<std::string>& out) {
  const std::string joined = next().value_or("");
  std::size_t from = 0;
  while (from < joined.size()) {
    const std::size_t end = std::min(joined.find('\x1f', from), joined.size());
    out.push_back(joined.substr(from, end - from));
    from = end + 1;
  }
}

AccountingRow read_row(const SqlRow& cells) {
  AccountingRow row;
  RowReader reader(cells);
  reader.number(row.job.value);
  reader.number(row.element.value);
  reader.flag(row.is_array);
  reader.number(row.attempts);
  reader.number(row.uid.value);
  reader.text(row.user);
  reader.text(row.account);
  reader.text(row.queue);
  reader.text(row.name);
  reader.text(row.state);
  reader.text(row.cause);
  reader.number(row.exit_status);
  reader.number(row.signal);
  reader.text(row.by);
  reader.text(row.evidence);
  reader.number(row.submitted.us);
  reader.number(row.started.us);
  reader.number(row.ended.us);
  reader.number(row.elapsed.us);
  reader.list(row.nodes);
  reader.list(row.gpu_types);
  reader.number(row.gpus);
  reader.number(row.cpus);
  reader.text(row.gpu_seconds);
  reader.text(row.cpu_seconds);
  reader.text(row.cost);
  reader.text(row.currency);
  reader.text(row.qos);
  return row;
}

SqlCell any_or_array(const std::vector<std::string>& values) {
  return values.empty() ? SqlCell() : SqlCell(sql_array(values));
}

SqlCell any_or_time(WallTime at) { return at.us == 0 ? SqlCell() : SqlCell(std::to_string(at.us)); }

Result<void> check(const AccountingFilter& filter) {
  if (filter.limit == 0 || filter.limit > kAccountingRowsMax) {
    return fail(ErrorCode::kInvalid,
                "accounting: limit must be 1 to " + std::to_string(kAccountingRowsMax));
  }
  for (const std::size_t size : {filter.jobs.size(), filter.users.size(), filter.accounts.size(),
                                 filter.queues.size(), filter.states.size(), filter.qos.size()}) {
    if (size > kAccountingWordsMax) {
      return fail(
          ErrorCode::kInvalid,
          "accounting: at most " + std::to_string(kAccountingWordsMax) + " values of a kind");
    }
  }
  return {};
}

}  // namespace

Accounting::Accounting(Database database, std::string cluster_id)
    : database_(std::move(database)), cluster_id_(std::move(cluster_id)) {}

Result<Accounting> Accounting::connect(const std::string& conninfo, const std::string& cluster_id) {
  Result<Database> database = Database::connect(conninfo);
  if (!database) return database.error();
  if (Result<void> begun = database->begin(); !begun) return begun.error();
  if (Result<void> set = database->run("queries/read_only"); !set) return set.error();
  if (Result<void> kept = database->commit(); !kept) return kept.error();
  return Accounting(*std::move(database), storable_text(cluster_id));
}

Result<std::vector<AccountingRow>> Accounting::query(const AccountingFilter& filter) {
  if (Result<void> good = check(filter); !good) return good.error();
  std::vector<std::string> jobs;
  for (const JobId job : filter.jobs) jobs.push_back(std::to_string(job.value));
  const SqlRow parameters{SqlCell(cluster_id_),
                          any_or_array(jobs),
                          any_or_array(filter.users),
                          any_or_array(filter.accounts),
                          any_or_array(filter.queues),
                          any_or_array(filter.states),
                          any_or_time(filter.since),
                          any_or_time(filter.until),
                          SqlCell(std::to_string(filter.limit)),
                          any_or_array(filter.qos)};
  if (Result<void> begun = database_.begin(); !begun) return begun.error();
  Result<std::vector<SqlRow>> found = database_.query("queries/accounting", parameters);
  database_.rollback();
  if (!found) return found.error();
  std::vector<AccountingRow> rows;
  rows.reserve(found->size());
  for (const SqlRow& cells : *found) rows.push_back(read_row(cells));
  return rows;
}

}  // namespace muster
