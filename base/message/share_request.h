// What is asked about fair shares and turns, and answered.
#pragma once

#include <string>
#include <vector>

#include "base/types/fields.h"
#include "base/types/ids.h"
#include "base/types/time.h"

namespace muster {

// shares: no body. Parts are in millionths.
struct ShareLine {
  std::string account;
  std::string user;  // Empty: the account itself, with all below it.
  std::uint32_t depth = 0;
  std::uint32_t share_ppm = 0;   // Of the cluster.
  std::uint32_t used_ppm = 0;    // Of what everybody used, the older the less.
  std::uint32_t factor_ppm = 0;  // What it makes of the points for fair share; of somebody new.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "account", self.account);
    visit(2, "user", self.user);
    visit(3, "depth", self.depth);
    visit(4, "share_ppm", self.share_ppm);
    visit(5, "used_ppm", self.used_ppm);
    visit(6, "factor_ppm", self.factor_ppm);
  }
};
struct SharesReply {
  std::vector<ShareLine> rows;   // As the tree is read.
  Duration half_life;            // Usage of that age counts half.
  std::vector<std::string> own;  // How the asking user stands, in sentences.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
    visit(2, "half_life", self.half_life);
    visit(3, "own", self.own);
  }
};

// turns: body JobsBody. A pending job, or what of an array is pending.
struct TurnRow {
  JobId job;
  std::string name;
  std::string user;
  std::string account;
  std::string queue;
  std::int32_t queue_priority = 0;  // Comes before all points.
  std::int32_t priority = 0;        // The job's own.
  std::uint32_t age_ppm = 0;        // Factors; their weights are the reply's.
  std::uint32_t fair_share_ppm = 0;
  std::uint32_t size_ppm = 0;
  std::int64_t points_milli = 0;  // In all, thousandths.
  std::string qos;
  std::int32_t qos_points = 0;
  std::int32_t nice = 0;  // Points taken off.
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "job", self.job);
    visit(2, "name", self.name);
    visit(3, "user", self.user);
    visit(4, "account", self.account);
    visit(5, "queue", self.queue);
    visit(6, "queue_priority", self.queue_priority);
    visit(7, "priority", self.priority);
    visit(8, "age_ppm", self.age_ppm);
    visit(9, "fair_share_ppm", self.fair_share_ppm);
    visit(10, "size_ppm", self.size_ppm);
    visit(11, "points_milli", self.points_milli);
    visit(12, "qos", self.qos);
    visit(13, "qos_points", self.qos_points);
    visit(14, "nice", self.nice);
  }
};
struct TurnsReply {
  std::vector<TurnRow> rows;        // Who comes first, first.
  std::uint64_t rows_left_off = 0;  // There were too many.
  std::uint32_t age_weight = 0;
  std::uint32_t fair_share_weight = 0;
  std::uint32_t size_weight = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "rows", self.rows);
    visit(2, "rows_left_off", self.rows_left_off);
    visit(3, "age_weight", self.age_weight);
    visit(4, "fair_share_weight", self.fair_share_weight);
    visit(5, "size_weight", self.size_weight);
  }
};

// usage-set: what users used before, in the place of what was counted.
struct UsageLine {
  std::string account;
  std::string user;
  std::uint64_t gpu_seconds = 0;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "account", self.account);
    visit(2, "user", self.user);
    visit(3, "gpu_seconds", self.gpu_seconds);
  }
};
struct UsageSetBody {
  std::vector<UsageLine> lines;
  template <class Self, class V>
  static void fields(Self& self, V& visit) {
    visit(1, "lines", self.lines);
  }
};

}  // namespace muster
