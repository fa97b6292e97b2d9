// Load on a real controller through a real gateway.
//
//   bench_load bulk|distinct CONNECTIONS JOBS   batches of up to 5,000 jobs: jobs/s acknowledged
//   bench_load single CONNECTIONS SECONDS       one job a request: jobs/s
//   bench_load poll CONNECTIONS SECONDS HZ      each lists its user's 100 newest jobs: requests/s
//   bench_load submit JOBS [held [GPUS]]        puts that many jobs into the queue: jobs/s
//
// Prints one number. Jobs carry 20 variables and a script of 2 KiB. The gateway is $MUSTER_GATEWAY.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "base/message/request.h"
#include "submit/client/client.h"

namespace {

using muster::Client;
using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

std::string script_text(std::uint64_t number) {
  std::string text = "#!/bin/bash\n# job " + std::to_string(number) + "\n";
  while (text.size() < 2048) text += "# a line of a script that somebody wrote for training\n";
  text.resize(2048);
  return text;
}

std::string environment_text(std::uint64_t number) {
  std::string text;
  for (int i = 0; i < 19; ++i)
    text += "VARIABLE_" + std::to_string(i) + "=/some/path/of/a/module/" + std::to_string(i) + '\0';
  return text + "NUMBER=" + std::to_string(number) + '\0';
}

std::uint32_t gpus_per_node = 0;  // Of every job; set once.

muster::SubmitJob job_named(const std::string& name, std::uint32_t index, bool hold) {
  muster::SubmitJob job;
  job.spec.name = name;
  job.spec.groups.resize(1);
  job.spec.groups[0].gpus_per_node = gpus_per_node;
  job.spec.hold = hold;
  job.launch.cwd = "/tmp";
  job.launch.script_name = "train.sh";
  job.launch.output = "/dev/null";
  job.script = index;
  job.environment = index;
  return job;
}

muster::SubmitBody batch(std::uint64_t first, std::uint64_t count, bool hold, bool shared) {
  muster::SubmitBody body;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i == 0 || !shared) {
      body.scripts.push_back(script_text(first + i));
      body.environments.push_back(environment_text(first + i));
    }
    const auto index = static_cast<std::uint32_t>(body.scripts.size());
    body.jobs.push_back(job_named("job-" + std::to_string(first + i), index, hold));
  }
  return body;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "bench_load: %s\n", why.c_str());
  std::exit(1);
}

void submit(Client& client, const std::string& encoded) {
  const auto response = client.call(muster::Verb::kSubmit, encoded);
  if (!response) give_up(response.error().message);
}

// Requests are made before the clock starts: what is measured is the system, not this program.
double run_bulk(std::uint64_t connections, std::uint64_t jobs, bool hold, bool shared) {
  const std::uint64_t share = jobs / connections;
  std::vector<std::vector<std::string>> requests(connections);
  for (std::uint64_t c = 0; c < connections; ++c) {
    for (std::uint64_t done = 0; done < share; done += 5000) {
      const std::uint64_t count = std::min<std::uint64_t>(5000, share - done);
      requests[c].push_back(muster::encode(batch(c * share + done, count, hold, shared)));
    }
  }
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (std::uint64_t c = 0; c < connections; ++c) {
    threads.emplace_back([&, c] {
      Client client;
      for (const std::string& request : requests[c]) submit(client, request);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(share * connections) / seconds_since(begin);
}

double run_single(std::uint64_t connections, double seconds) {
  std::atomic<std::uint64_t> done{0};
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (std::uint64_t c = 0; c < connections; ++c) {
    threads.emplace_back([&, c] {
      Client client;
      for (std::uint64_t i = 0; seconds_since(begin) < seconds; ++i) {
        submit(client, muster::encode(batch(c * 10000000 + i, 1, true, false)));
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done) / seconds_since(begin);
}

double run_poll(std::uint64_t connections, double seconds, double hz) {
  std::atomic<std::uint64_t> done{0};
  const auto begin = Steady::now();
  std::vector<std::thread> threads;
  for (std::uint64_t c = 0; c < connections; ++c) {
    threads.emplace_back([&] {
      Client client;
      muster::JobsBody body;
      body.rows_max = 100;
      const std::string encoded = muster::encode(body);
      for (std::uint64_t i = 1; seconds_since(begin) < seconds; ++i) {
        const auto response = client.call(muster::Verb::kJobs, encoded);
        if (!response) give_up(response.error().message);
        ++done;
        const auto next = begin + std::chrono::duration_cast<Steady::duration>(
                                      std::chrono::duration<double>(static_cast<double>(i) / hz));
        std::this_thread::sleep_until(next);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(done) / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) {
    return i < words.size() ? std::strtoull(words[i].c_str(), nullptr, 10) : 0;
  };
  if (words.size() < 2) give_up("usage: bench_load bulk|single|poll|submit …");
  double value = 0;
  if (words[0] == "bulk") {
    value = run_bulk(number(1), number(2), true, true);
  } else if (words[0] == "distinct") {
    value = run_bulk(number(1), number(2), true, false);
  } else if (words[0] == "single") {
    value = run_single(number(1), static_cast<double>(number(2)));
  } else if (words[0] == "poll") {
    value = run_poll(number(1), static_cast<double>(number(2)), static_cast<double>(number(3)));
  } else if (words[0] == "submit") {
    gpus_per_node = static_cast<std::uint32_t>(number(3));
    value = run_bulk(1, number(1), words.size() > 2 && words[2] == "held", false);
  } else {
    give_up("unknown load " + words[0]);
  }
  std::printf("%.1f\n", value);
  return 0;
}
