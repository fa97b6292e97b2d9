// Journal records of a made-up cluster: jobs that start, run, fail, are retried and end, and what
// their sums must be.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/types/rng.h"
#include "controller/core/event.h"

namespace muster {

struct Workload {
  std::vector<Record> records;  // From seq 1.
  // Counted while the records were made, without SQL.
  std::uint64_t jobs = 0;
  std::uint64_t attempts = 0;
  std::uint64_t grants = 0;
  std::uint64_t gpu_milli_ms = 0;
  std::uint64_t cpu_ms = 0;
  std::map<std::uint64_t, std::uint64_t> gpu_milli_ms_of_job;
};

constexpr std::uint64_t kWorkloadNodes = 20;
constexpr std::uint64_t kWorkloadGpusPerNode = 4;

// The same seed gives the same records. Epoch 1 throughout.
Workload make_workload(std::uint64_t seed, std::uint64_t jobs);

// Single events, for tests that build their own history.
JobSubmitted submission(std::uint64_t job, const std::string& user);
Record record_of(std::uint64_t seq, std::vector<Event> events, std::uint64_t epoch = 1);

}  // namespace muster
