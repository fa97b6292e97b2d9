// The feed's speed into a real database, as after a long absence of PostgreSQL.
//
//   bench_feed CONNINFO CLUSTER JOBS     prints "ROWS SECONDS": facts written, time in Feed::write
//
// Records are made before the clock starts; batches are the controller's.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "controller/sql/feed.h"
#include "controller/sql/rows.h"
#include "tests/system/sql/workload.h"

namespace {

using namespace muster;

constexpr std::size_t kRecordsPerCommit = 8000;  // As in controller/host/feed_thread.cpp.

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_feed: %s\n", why.c_str());
  std::exit(1);
}

std::size_t rows_of(std::span<const Record> records) {
  FactRows rows("1");
  for (const Record& record : records) rows.add(record);
  std::size_t total = 0;
  for (const SqlSheet& sheet : rows.sheets()) total += sheet.rows();
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) give_up("usage: bench_feed CONNINFO CLUSTER JOBS");
  const Workload made = make_workload(1, std::strtoull(argv[3], nullptr, 10));
  auto feed = Feed::connect(argv[1], argv[2], Epoch{1});
  if (!feed) give_up(feed.error().message);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < made.records.size(); at += kRecordsPerCommit) {
    const std::size_t count = std::min(kRecordsPerCommit, made.records.size() - at);
    const auto written = feed->write(std::span(made.records).subspan(at, count));
    if (!written) give_up(written.error().message);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu %.3f\n", rows_of(made.records), took.count());
  return 0;
}
