// The table of gpuacct.
#include "submit/cli/acct_print.h"

#include <algorithm>
#include <map>
#include <vector>

#include "submit/cli/table.h"
#include "submit/cli/when.h"

namespace muster {

namespace {

constexpr std::size_t kFractionDigits = 12;

// Digits with kFractionDigits after the point, least first.
using Digits = std::vector<unsigned>;

bool is_decimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(text.begin(), text.end(), '.') <= 1;
}

Digits digits_of(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  fraction.resize(kFractionDigits, '0');
  const std::string all = std::string(text.substr(0, point)) + fraction;
  Digits digits;
  for (auto at = all.rbegin(); at != all.rend(); ++at)
    digits.push_back(static_cast<unsigned>(*at - '0'));
  return digits;
}

void add_digits(Digits& sum, const Digits& more) {
  if (sum.size() < more.size()) sum.resize(more.size(), 0);
  unsigned carry = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const unsigned digit = sum[i] + (i < more.size() ? more[i] : 0) + carry;
    sum[i] = digit % 10;
    carry = digit / 10;
  }
  if (carry != 0) sum.push_back(carry);
}

std::string text_of(const Digits& digits) {
  std::string whole;
  std::string fraction;
  for (std::size_t i = digits.size(); i-- > 0;) {
    (i >= kFractionDigits ? whole : fraction).push_back(static_cast<char>('0' + digits[i]));
  }
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  fraction.erase(fraction.find_last_not_of('0') + 1);
  if (whole.empty()) whole = "0";
  return fraction.empty() ? whole : whole + "." + fraction;
}

std::string job_of(const AccountingRow& row) {
  if (!row.elements.empty()) return std::to_string(row.job.value) + "_[" + row.elements + "]";
  return std::to_string(row.job.value) +
         (row.is_array ? "_" + std::to_string(row.element.value) : "");
}

// "ended completed", "ended exited 3", "active".
std::string state_of(const AccountingRow& row) {
  if (row.cause.empty() || row.state != "ended") return row.state;
  if (row.exit_status != 0) return row.cause + " " + std::to_string(row.exit_status);
  return row.cause;
}

std::vector<Column> columns(bool has_qos) {
  std::vector<Column> all{{"JOB"},
                          {"NAME", Align::kLeft, 8},
                          {"USER", Align::kLeft, 4, 3},
                          {"ACCOUNT", Align::kLeft, 7, 4},
                          {"STATE", Align::kLeft, 9},
                          {"STARTED", Align::kLeft, 0, 2},
                          {"TIME", Align::kRight},
                          {"GPUS", Align::kRight, 0, 1},
                          {"GPU-S", Align::kRight},
                          {"CPU-S", Align::kRight, 0, 5},
                          {"COST", Align::kRight}};
  if (has_qos) all.insert(all.begin() + 4, {"QOS", Align::kLeft, 4, 6});
  return all;
}

}  // namespace

std::string sum_of_decimals(std::span<const std::string_view> decimals) {
  Digits sum(kFractionDigits + 1, 0);
  for (const std::string_view text : decimals) {
    if (is_decimal(text)) add_digits(sum, digits_of(text));
  }
  return text_of(sum);
}

std::string accounting_table(std::span<const AccountingRow> rows, const Terminal& terminal) {
  // Few sites have any QOS: a column only where a job has one.
  const bool has_qos = std::any_of(rows.begin(), rows.end(),
                                   [](const AccountingRow& row) { return !row.qos.empty(); });
  Table table(columns(has_qos));
  std::vector<std::string_view> gpu_seconds;
  std::vector<std::string_view> cpu_seconds;
  std::map<std::string_view, std::vector<std::string_view>> costs;
  for (const AccountingRow& row : rows) {
    gpu_seconds.push_back(row.gpu_seconds);
    cpu_seconds.push_back(row.cpu_seconds);
    if (!row.cost.empty()) costs[row.currency].push_back(row.cost);
    std::vector<Cell> cells{job_of(row), row.name, row.user, row.account};
    if (has_qos) cells.push_back(row.qos.empty() ? "-" : row.qos);
    for (Cell cell : {Cell(state_of(row)), Cell(local_time(row.started)),
                      Cell(row.elapsed.us == 0 ? "-" : to_clock(row.elapsed)),
                      Cell(std::to_string(row.gpus)), Cell(row.gpu_seconds), Cell(row.cpu_seconds),
                      Cell(row.cost.empty() ? "-" : row.cost + " " + row.currency)})
      cells.push_back(std::move(cell));
    table.add(cells);
  }
  std::string text = table.render(terminal);
  if (rows.size() < 2) return text;
  text += "\nTotal of " + std::to_string(rows.size()) + " rows: " + sum_of_decimals(gpu_seconds) +
          " GPU-seconds, " + sum_of_decimals(cpu_seconds) + " CPU-seconds";
  for (const auto& [currency, amounts] : costs) {
    text += ", " + sum_of_decimals(amounts) + " " + std::string(currency);
  }
  return text + "\n";
}

}  // namespace muster
