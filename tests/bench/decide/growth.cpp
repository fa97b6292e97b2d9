// The sites are as that of pass_10k_100k, of other sizes.
#include "tests/bench/decide/growth.h"

#include <array>

namespace muster {
namespace {

constexpr std::array kTypes{"h100", "a100", "v100", "t4"};

// Ends one of `of` running jobs, at random.
void end_some(Site& site, std::uint64_t of) {
  std::vector<AttemptKey> keys;
  for (const auto& [key, attempt] : site.engine().cluster().attempts()) keys.push_back(key);
  for (const AttemptKey& key : keys) {
    if (site.rng().below(of) == 0) site.end(*site.engine().cluster().find_attempt(key));
  }
}

Times passes_of(Site& site, int runs, Times& steps) {
  Times passes;
  for (int run = 0; run < runs; ++run) {
    double took = 0;
    for (bool wanted = true; wanted;) {
      wanted = site.pass_step(steps);
      took += steps.back();
    }
    passes.push_back(took);
    for (int i = 0; i < 100 && site.running() != 0; ++i)
      site.end(site.engine().cluster().attempts().begin()->second);
    site.wait(seconds(31));
  }
  return passes;
}

}  // namespace

Site busy_site(std::uint32_t nodes, std::uint32_t jobs, std::uint32_t shapes, bool preempting) {
  Site site(2, preempting);
  site.add_nodes(nodes, {});
  std::vector<NewJob> ones(std::size_t{nodes} * 8, Site::job(1, 1));
  if (preempting) {
    for (std::size_t i = 0; i < ones.size(); i += 10) ones[i].spec.queue = "spot";
  }
  for (NewJob& job : ones)
    job.spec.time_limit = minutes(static_cast<std::int64_t>(site.rng().between(30, 2000)));
  site.submit(std::move(ones));
  site.pass();
  end_some(site, 20);
  constexpr std::uint32_t kUsers = 100;
  for (std::uint32_t user = 0; user < kUsers; ++user) {
    std::vector<NewJob> waiting;
    for (std::uint32_t i = 0; i < jobs / kUsers; ++i) {
      const auto shape = static_cast<std::uint32_t>(site.rng().below(shapes));
      NewJob job = Site::job(shape % 16 + 1, 2 + shape % 7);
      job.spec.groups[0].cpus_per_node = shape / 16 % 120 + 1;
      job.spec.groups[0].memory_mib_per_node = 1000 + shape / 1920;
      job.spec.time_limit = hours(static_cast<std::int64_t>(1 + site.rng().below(40)));
      job.spec.account = "lab" + std::to_string(user % 20);
      waiting.push_back(job);
    }
    site.submit(std::move(waiting), 2000 + user);
  }
  return site;
}

double place_half(std::uint32_t nodes, std::vector<NewJob> jobs, std::uint64_t seed) {
  Site site(seed + 1);
  for (std::uint32_t i = 0; i < nodes; ++i) site.add_nodes(1, {8, kTypes[site.rng().below(4)]});
  site.submit(std::vector<NewJob>(std::size_t{nodes} * 8, Site::job(1, 1)));
  site.pass();
  end_some(site, 2);
  for (std::size_t i = 0; i < jobs.size(); i += 2) {
    const std::uint64_t first = site.rng().below(4);
    jobs[i].spec.groups[0].gpu_types = {kTypes[first], kTypes[(first + 1) % 4]};
  }
  site.submit(std::move(jobs), 1001);
  const double start = now_ms();
  site.pass();
  return ms_since(start);
}

void pass_20k_shapes(int runs) {
  Site site = busy_site(10000, 100000, 20000);
  Times steps;
  print("pass_20k_shapes", passes_of(site, runs, steps));
  print("pass_20k_shapes_step", steps);
}

void gang_decision_1k(int runs) {
  Site site(3);
  site.add_nodes(10000, {});
  site.submit(std::vector<NewJob>(8800, Site::job(1, 8)));
  site.pass();
  Times times;
  for (int run = 0; run < runs; ++run) {
    site.submit({Site::job(1000, 8)}, 1001);
    const std::size_t before = site.running();
    double took = 0;
    while (site.running() == before) {
      Times steps;
      const bool wanted = site.pass_step(steps);
      took += steps.back();
      if (!wanted && site.running() == before) {
        std::fprintf(stderr, "bench_decide: the gang does not start\n");
        std::exit(1);
      }
    }
    times.push_back(took);
    site.end(site.engine().cluster().attempts().rbegin()->second);
    site.pass();
    site.wait(seconds(31));
  }
  print("gang_decision_1k", times);
}

void growth(int runs) {
  const auto measure = [&](std::uint32_t nodes, std::uint32_t jobs) {
    Site site = busy_site(nodes, jobs, 500);
    Times steps;
    print("growth_" + std::to_string(nodes / 1000) + "k_" + std::to_string(jobs / 1000) + "k",
          passes_of(site, runs, steps));
  };
  for (const std::uint32_t nodes : {1000U, 3000U, 10000U}) measure(nodes, 100000);
  for (const std::uint32_t jobs : {10000U, 30000U}) measure(10000, jobs);
}

}  // namespace muster
