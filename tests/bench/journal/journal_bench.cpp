// What the disk thread can do: durable records a second in batches, with and without a blob each;
// the time from append to durable on an idle disk; reading it all again at a restart. One JSON
// object a line.
//   journal_bench [DIRECTORY]   (a directory on the disk to be measured; default /var/tmp)
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

#include "controller/host/disk.h"

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kPayloadBytes = 700;  // About a JobSubmitted.
constexpr std::uint64_t kRecords = 200000;
constexpr std::uint64_t kRecordsWithBlobs = 50000;
constexpr std::size_t kBlobBytes = 2048;
constexpr int kRounds = 5;
constexpr int kLatencies = 2000;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

void print(const char* name, const char* unit, double value, std::vector<double> samples) {
#ifdef __OPTIMIZE__
  const char* build = "release";
#else
  const char* build = "debug";
#endif
  std::sort(samples.begin(), samples.end());
  std::printf(
      "{\"name\":\"%s\",\"value\":%.6g,\"unit\":\"%s\",\"n\":%zu,\"min\":%.6g,\"max\":%.6g,"
      "\"build\":\"%s\"}\n",
      name, value, unit, samples.size(), samples.front(), samples.back(), build);
  std::fflush(stdout);
}

double mean(const std::vector<double>& samples) {
  double sum = 0;
  for (const double sample : samples) sum += sample;
  return sum / static_cast<double>(samples.size());
}

// A disk in a directory of its own, and waiting for what is durable.
class Bench {
 public:
  explicit Bench(const std::string& parent) {
    directory_ = parent + "/muster-bench-XXXXXX";
    if (::mkdtemp(directory_.data()) == nullptr) std::abort();
    open();
    disk_->start(Epoch{1}, [this](std::uint64_t seq) {
      const std::lock_guard<std::mutex> lock(mutex_);
      durable_ = seq;
      changed_.notify_one();
    });
  }
  ~Bench() {
    disk_.reset();
    std::filesystem::remove_all(directory_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Disk& disk() { return *disk_; }

  void append(const std::string& payload) {
    disk_->append(++seq_, payload);
    if (disk_->wants_rotation()) disk_->rotate();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return durable_ == seq_; });
  }
  std::uint64_t seq() const { return seq_; }

  // Seconds to read every record again, as a restart does.
  double restart() {
    disk_.reset();
    const auto begun = Clock::now();
    const std::uint64_t records = open();
    MUSTER_ASSERT(records == seq_);
    return seconds_since(begun);
  }

 private:
  std::uint64_t open() {
    DiskOptions options;
    options.directory = directory_;
    Result<std::unique_ptr<Disk>> disk = Disk::open(options);
    MUSTER_ASSERT(disk.ok());
    disk_ = std::move(*disk);
    const Result<Recovery> recovery =
        disk_->recover(0, [](const RecordView&) { return Result<void>(); });
    MUSTER_ASSERT(recovery.ok());
    return recovery->records;
  }

  std::string directory_;
  std::unique_ptr<Disk> disk_;
  std::uint64_t seq_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t durable_ = 0;
};

void measure_group_commit(const std::string& parent) {
  std::vector<double> rates;
  std::vector<double> restarts;
  const std::string payload(kPayloadBytes, 'p');
  for (int round = 0; round < kRounds; ++round) {
    Bench bench(parent);
    const auto begun = Clock::now();
    for (std::uint64_t i = 0; i < kRecords; ++i) bench.append(payload);
    bench.wait();
    rates.push_back(static_cast<double>(kRecords) / seconds_since(begun));
    restarts.push_back(bench.restart());
  }
  print("journal_group_commit", "records/s", mean(rates), rates);
  print("journal_recover_200k", "s", mean(restarts), restarts);
}

void measure_blobs(const std::string& parent) {
  std::vector<double> rates;
  const std::string payload(kPayloadBytes, 'p');
  for (int round = 0; round < kRounds; ++round) {
    Bench bench(parent);
    std::string script(kBlobBytes, 's');
    const auto begun = Clock::now();
    for (std::uint64_t i = 0; i < kRecordsWithBlobs; ++i) {
      script.replace(0, 8, std::to_string(10000000 + i));
      MUSTER_ASSERT(bench.disk().blobs().put(script).ok());
      bench.append(payload);
    }
    bench.wait();
    rates.push_back(static_cast<double>(kRecordsWithBlobs) / seconds_since(begun));
  }
  print("journal_group_commit_blobs", "records/s", mean(rates), rates);
}

void measure_latency(const std::string& parent) {
  Bench bench(parent);
  const std::string payload(kPayloadBytes, 'p');
  std::vector<double> latencies;
  for (int i = 0; i < kLatencies; ++i) {
    ::usleep(200);
    const auto begun = Clock::now();
    bench.append(payload);
    bench.wait();
    latencies.push_back(seconds_since(begun) * 1e3);
  }
  std::sort(latencies.begin(), latencies.end());
  const std::size_t median = latencies.size() / 2;
  latencies.resize(latencies.size() * 99 / 100);  // So that max is the 99th percentile.
  print("journal_idle_latency", "ms", latencies[median], latencies);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const std::string parent = argc > 1 ? argv[1] : "/var/tmp";
  muster::measure_group_commit(parent);
  muster::measure_blobs(parent);
  muster::measure_latency(parent);
  return 0;
}
