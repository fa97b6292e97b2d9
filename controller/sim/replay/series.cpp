// Counting what a chart shows.
#include <algorithm>
#include <map>

#include "controller/sim/replay/chart.h"

namespace muster {
namespace {

double seconds_of(Duration d) { return static_cast<double>(d.us) / 1e6; }

// Adds `amount` for each second from `from` to `to` to the parts of the window.
class Parts {
 public:
  explicit Parts(Duration window)
      : sums_(kChartPoints, 0), width_(seconds_of(window) / static_cast<double>(kChartPoints)) {}

  void add(Instant from, Instant to, double amount) {
    const double begin = std::max(0.0, seconds_of(from - Instant{}));
    const double end =
        std::min(seconds_of(to - Instant{}), width_ * static_cast<double>(kChartPoints));
    if (begin >= end) return;
    auto i = static_cast<std::size_t>(begin / width_);
    for (; i < kChartPoints && static_cast<double>(i) * width_ < end; ++i) {
      const double left = static_cast<double>(i) * width_;
      const double within = std::min(end, left + width_) - std::max(begin, left);
      sums_[i] += std::max(0.0, within) * amount;
    }
  }
  // Sums divided by the seconds of a part and by `whole`.
  std::vector<double> means(double whole) const {
    std::vector<double> means = sums_;
    for (double& mean : means) mean /= width_ * whole;
    return means;
  }

 private:
  std::vector<double> sums_;
  double width_;
};

struct Owner {
  double got = 0;
  double wanted = 0;
};

// The level up to which everybody gets what they want when all together get `capacity`.
double fair_level(std::vector<double> wanted, double capacity) {
  std::sort(wanted.begin(), wanted.end());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double even = capacity / static_cast<double>(wanted.size() - i);
    if (wanted[i] >= even) return even;
    capacity -= wanted[i];
  }
  return wanted.empty() ? 0 : wanted.back();
}

void add_fairness(const std::vector<Owner>& owners, double capacity, ChartSeries& series) {
  std::vector<double> wanted;
  for (const Owner& owner : owners) wanted.push_back(owner.wanted);
  const double level = fair_level(wanted, capacity);
  double sum = 0;
  double least = 1;
  for (const Owner& owner : owners) {
    const double part = std::min(1.0, owner.got / std::min(level, owner.wanted));
    sum += part;
    least = std::min(least, part);
  }
  series.fair_mean.push_back(owners.empty() ? 1 : sum / static_cast<double>(owners.size()));
  series.fair_least.push_back(least);
}

}  // namespace

ChartSeries series_of(const std::vector<TraceJob>& jobs, const std::vector<Run>& runs,
                      const SimNodes& nodes, Duration window) {
  Parts in_use(window);
  Parts waiting(window);
  Parts wanted(window);
  std::map<std::uint32_t, std::vector<std::size_t>> by_owner;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    in_use.add(runs[i].start, runs[i].end, jobs[i].gpus);
    waiting.add(jobs[i].submitted, runs[i].start, 1);
    for (const Stretch& pause : runs[i].pauses) {
      in_use.add(pause.from, pause.to, -double{1} * jobs[i].gpus);
      waiting.add(pause.from, pause.to, 1);
      wanted.add(pause.from, pause.to, jobs[i].gpus);
    }
    wanted.add(jobs[i].submitted, runs[i].start, jobs[i].gpus);
    by_owner[jobs[i].owner].push_back(i);
  }
  const double all = double{1} * nodes.nodes * nodes.gpus_per_node;
  ChartSeries series{in_use.means(all), waiting.means(1), wanted.means(all), {}, {}};
  std::vector<std::vector<Owner>> owners(kChartPoints);  // Those who wanted something.
  for (const auto& [owner, its] : by_owner) {
    Parts got(window);
    Parts want(window);
    for (const std::size_t i : its) {
      got.add(runs[i].start, runs[i].end, jobs[i].gpus);
      for (const Stretch& pause : runs[i].pauses)
        got.add(pause.from, pause.to, -double{1} * jobs[i].gpus);
      want.add(jobs[i].submitted, runs[i].end, jobs[i].gpus);
    }
    const std::vector<double> gots = got.means(1);
    const std::vector<double> wants = want.means(1);
    for (std::size_t i = 0; i < kChartPoints; ++i) {
      if (wants[i] > 0) owners[i].push_back({gots[i], wants[i]});
    }
  }
  for (const std::vector<Owner>& of : owners) add_fairness(of, all, series);
  return series;
}

}  // namespace muster
