// How fast the core decides, without clock, disk or network: prints one JSON object a line. Times
// are of the processor: the core waits for nothing, and other programs on the machine are not
// counted.
//   bench_decide NAME RUNS     NAME: place_1k_10k place_1k_mixed place_10k_10k, each also with
//   _half behind it;
//       pass_10k_100k pass_20k_shapes gang_decision_1k growth estimate_10k_100k array_1m_submit
//       array_1k_ends element_bytes
#include <malloc.h>

#include "tests/bench/decide/growth.h"
#include "tests/bench/decide/site.h"

namespace muster {
namespace {

double place(std::uint32_t nodes, std::vector<NewJob> jobs) {
  Site site(1);
  site.add_nodes(nodes, {});
  site.submit(std::move(jobs));
  const auto start = now_ms();
  site.pass();
  return ms_since(start);
}

std::vector<NewJob> mixed(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<NewJob> jobs;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t dice = rng.below(100);
    if (dice < 55)
      jobs.push_back(Site::job(1, 1));
    else if (dice < 70)
      jobs.push_back(Site::job(1, 2));
    else if (dice < 85)
      jobs.push_back(Site::job(1, 4));
    else if (dice < 95)
      jobs.push_back(Site::job(1, 8));
    else
      jobs.push_back(Site::job(static_cast<std::uint32_t>(rng.between(2, 16)), 8));
  }
  return jobs;
}

// 500 ends a second while a pass goes on, and a queue that may stop jobs of another.
Site site_10k_100k() { return busy_site(10000, 100000, 500, true); }

void pass_10k_100k(int runs) {
  Site site = site_10k_100k();
  Times passes;
  Times steps;
  for (int run = 0; run < runs; ++run) {
    int ended = 0;
    bool wanted = true;
    double pass_ms = 0;
    while (wanted) {
      wanted = site.pass_step(steps);
      pass_ms += steps.back();
      // 500 a second of the time the pass takes; those of the last half second are left to the
      // round that follows, which is timed with it.
      while (ended < std::min(static_cast<int>(pass_ms / 2), 250) && site.running() != 0) {
        site.end(site.engine().cluster().attempts().begin()->second);
        ++ended;
      }
    }
    passes.push_back(pass_ms);
    site.wait(seconds(31));
  }
  print("pass_10k_100k", passes);
  print("pass_10k_100k_step", steps);
}

// Looking ahead over the same, once by limits.
void estimate_10k_100k(int runs) {
  Site site = site_10k_100k();
  site.pass();
  Times whole;
  Times steps;
  for (int run = 0; run < runs; ++run) {
    double took = 0;
    bool more = site.estimate_step(steps, true);
    for (took += steps.back(); more; took += steps.back()) more = site.estimate_step(steps, false);
    whole.push_back(took);
  }
  print("estimate_10k_100k", whole);
  print("estimate_10k_100k_step", steps);
}

// A million elements, from the command to the answer.
double array_1m_submit() {
  Site site(1);
  site.add_nodes(10, {});
  NewJob job = Site::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  job.spec.array.running_max = 50;
  const std::size_t before = mallinfo2().uordblks;
  const double start = now_ms();
  site.submit({job});
  const double took = ms_since(start);
  const std::size_t bytes = mallinfo2().uordblks - before;
  if (bytes > (std::size_t{1} << 20U)) {
    std::fprintf(stderr, "bench_decide: a million elements took %zu bytes\n", bytes);
    std::exit(1);
  }
  return took;
}

// Elements that end one after the other while others start, in milliseconds per thousand of them.
double array_1k_ends() {
  Site site(1);
  site.add_nodes(200, {});
  NewJob job = Site::job(1, 1);
  job.spec.array.ranges = {{0, 999999, 1}};
  site.submit({job});
  site.pass();
  constexpr int kEnds = 10000;
  double took = 0;
  for (int i = 0; i < kEnds; ++i) {
    const Attempt& first = site.engine().cluster().attempts().begin()->second;
    const double start = now_ms();
    site.end(first);
    site.pass();
    took += ms_since(start);
  }
  return took * 1000 / kEnds;
}

// What the engine keeps of each element of an array that runs, and of each that ended: bytes of the
// heap, without what the nodes and the array cost before the first starts.
void element_bytes() {
  constexpr std::uint32_t kNodes = 12500;
  constexpr double kElements = kNodes * 8.0;
  const auto in_use = [] { return static_cast<double>(mallinfo2().uordblks); };
  Site site(1);
  site.add_nodes(kNodes, {});
  NewJob job = Site::job(1, 1);
  job.spec.array.ranges = {{0, kNodes * 8 - 1, 1}};
  site.submit({job});
  site.take_changes();
  const double before = in_use();
  site.pass();
  const double start = now_ms();
  site.launch_all();
  const double launched_ms = ms_since(start);
  site.take_changes();
  const double running = in_use();
  site.end_all();
  site.take_changes();
  const double ended = in_use();
  print_bytes("element_running_bytes", (running - before) / kElements);
  print_bytes("element_ended_bytes", (ended - before) / kElements);
  print("element_launch_100k", {launched_ms});
}

int run(const std::string& name, int runs) {
  if (name == "pass_10k_100k") {
    pass_10k_100k(runs);
    return 0;
  }
  if (name == "estimate_10k_100k") {
    estimate_10k_100k(runs);
    return 0;
  }
  if (name == "growth") return growth(runs), 0;
  if (name == "pass_20k_shapes") return pass_20k_shapes(runs), 0;
  if (name == "gang_decision_1k") return gang_decision_1k(runs), 0;
  if (name == "element_bytes") return element_bytes(), 0;
  Times times;
  for (int i = 0; i < runs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    if (name == "place_1k_10k")
      times.push_back(place(1000, std::vector<NewJob>(10000, Site::job(1, 1))));
    else if (name == "place_10k_10k")
      times.push_back(place(10000, std::vector<NewJob>(10000, Site::job(1, 1))));
    else if (name == "place_1k_10k_half")
      times.push_back(place_half(1000, std::vector<NewJob>(10000, Site::job(1, 1)), seed));
    else if (name == "place_10k_10k_half")
      times.push_back(place_half(10000, std::vector<NewJob>(10000, Site::job(1, 1)), seed));
    else if (name == "place_1k_mixed_half")
      times.push_back(place_half(1000, mixed(10000, seed), seed));
    else if (name == "place_1k_mixed")
      times.push_back(place(1000, mixed(10000, seed)));
    else if (name == "array_1m_submit")
      times.push_back(array_1m_submit());
    else if (name == "array_1k_ends")
      times.push_back(array_1k_ends());
    else
      return 1;
  }
  print(name, times);
  return 0;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 3 || muster::run(argv[1], std::atoi(argv[2])) != 0) {
    std::fprintf(stderr, "usage: bench_decide NAME RUNS\n");
    return 64;
  }
  return 0;
}
