// What is asked about how estimates of starts came out, and answered.
#pragma once

#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/time.h"

namespace muster {

// estimates: no body. Of the jobs that started in the last days, those of whose start something was
// said before.
struct EstimateLine {
  std::string queue;           // Empty: all.
  std::uint64_t jobs = 0;      // That started.
  std::uint64_t p50_held = 0;  // By the time that one of two should.
  std::uint64_t p90_held = 0;  // By the time that nine of ten should.
  std::uint64_t late = 0;      // After the time that one of two should.
  Duration error_median;       // Half were off by no more.
  std::uint64_t p90_held_ppm = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "queue", self.queue);
    visit(2, "jobs", self.jobs);
    visit(3, "p50_held", self.p50_held);
    visit(4, "p90_held", self.p90_held);
    visit(5, "late", self.late);
    visit(6, "error_median", self.error_median);
    visit(7, "p90_held_ppm", self.p90_held_ppm);
  }
};
struct EstimatesReply {
  std::uint32_t days = 0;          // So many are counted.
  std::uint64_t jobs_told = 0;     // That wait, and of whose start something is said now.
  std::vector<EstimateLine> rows;  // All, then by queue.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "days", self.days);
    visit(2, "jobs_told", self.jobs_told);
    visit(3, "rows", self.rows);
  }
};

}  // namespace muster
