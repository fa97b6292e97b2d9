// Simulated workers on a real controller.
//
//   bench_workers keys DIR COUNT   makes keys for the nodes s1… in DIR and prints their [[node]]
//                                  tables for the controller
//   bench_workers run dir=DIR endpoint=HOST:PORT server=KEY [first=1] [count=1] [gpus=8] [holds=1]
//                     [hangs=COUNT] [hangs_for=SECONDS]
//
// `run` prints "connected" once all are welcomed, then, for every byte of input and at its end,
// what they did so far as one JSON object. Each connects from an address of its own in 127.0.0.0/8,
// as nodes do. The first `hangs` of them fall silent at the first order; see SimBehaviour.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/bench/cluster/sim_worker.h"

namespace {

using namespace muster;

// Of unfinished handshakes: more at once share the processor and all end late.
constexpr std::uint64_t kConnectingMax = 64;
constexpr Duration kLookAtAllEvery = milliseconds(100);
constexpr std::uint64_t kAddressesPerNet = 250;

using Words = std::map<std::string, std::string>;

std::string node_name(std::uint64_t number) { return "s" + std::to_string(number); }

std::uint64_t number_of(const Words& words, const std::string& name, std::uint64_t otherwise) {
  const auto found = words.find(name);
  return found == words.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
}

// One file and no sync: ten thousand files would be most of a bench.
int make_keys(const std::string& directory, std::uint64_t count) {
  std::ofstream file(directory + "/keys");
  for (std::uint64_t i = 1; i <= count; ++i) {
    const KeyPair key = make_key_pair();
    file << key.public_key << ' ' << key.secret_key << '\n';
    std::printf("[[node]]\nname = \"%s\"\nkey = '%s'\n", node_name(i).c_str(),
                key.public_key.c_str());
  }
  return file.flush() ? 0 : 1;
}

std::vector<KeyPair> load_keys(const std::string& directory) {
  std::ifstream file(directory + "/keys");
  std::vector<KeyPair> keys;
  KeyPair key;
  while (file >> key.public_key >> key.secret_key) keys.push_back(key);
  return keys;
}

std::string source_of(std::uint64_t number) {
  return "127.1." + std::to_string(number / kAddressesPerNet) + "." +
         std::to_string(1 + number % kAddressesPerNet);
}

// All workers of this process, one thread.
class Fleet {
 public:
  explicit Fleet(Words words) : words_(std::move(words)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    first_ = number_of(words_, "first", 1);
    count_ = number_of(words_, "count", 1);
    hangs_ = number_of(words_, "hangs", 0);
    keys_ = load_keys(words_["dir"]);
  }
  ~Fleet() { close(epoll_); }
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  int run() {
    Instant looked_at;
    bool announced = false;
    while (!is_over()) {
      turn_ready();
      if (steady_now() - looked_at < kLookAtAllEvery) continue;
      looked_at = steady_now();
      const std::uint64_t welcomed = turn_all();
      connect_more(welcomed);
      if (announced || welcomed < count_) continue;
      announced = true;
      std::printf("connected\n");
      std::fflush(stdout);
    }
    say_counts();
    return 0;
  }

 private:
  // True when the driver closed our standard input: the end. A byte asks for the counts.
  bool is_over() const {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, 0) <= 0) return false;
    char byte = 0;
    if (read(STDIN_FILENO, &byte, 1) <= 0) return true;
    say_counts();
    return false;
  }

  void say_counts() const {
    std::printf("{\"prepared\":%llu,\"launched\":%llu,\"killed\":%llu,\"hung\":%llu}\n",
                static_cast<unsigned long long>(counts_.prepared),
                static_cast<unsigned long long>(counts_.launched),
                static_cast<unsigned long long>(counts_.killed),
                static_cast<unsigned long long>(counts_.hung));
    std::fflush(stdout);
  }

  void turn_ready() {
    std::array<epoll_event, 256> events{};
    const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20);
    for (int i = 0; i < n; ++i)
      workers_[events[static_cast<std::size_t>(i)].data.u64]->turn(counts_);
  }

  std::uint64_t turn_all() {
    std::uint64_t welcomed = 0;
    for (auto& worker : workers_) {
      worker->turn(counts_);
      if (worker->is_welcomed()) ++welcomed;
    }
    return welcomed;
  }

  void connect_more(std::uint64_t welcomed) {
    while (workers_.size() < count_ && workers_.size() - welcomed < kConnectingMax) connect_one();
  }

  void connect_one() {
    const std::uint64_t number = first_ + workers_.size();
    if (number > keys_.size()) give_up("no key for " + node_name(number));
    ClientOptions client;
    client.endpoint = "tcp://" + source_of(number) + ":0;" + words_["endpoint"];
    client.server_key = words_["server"];
    client.key = keys_[number - 1];
    auto socket = ClientSocket::open(context_, client);
    if (!socket) give_up(socket.error().message);
    SimBehaviour behaviour;
    behaviour.gpus = static_cast<std::uint32_t>(number_of(words_, "gpus", 8));
    behaviour.holds = number_of(words_, "holds", 0) != 0;
    behaviour.hangs = workers_.size() < hangs_;
    behaviour.hangs_for = seconds(static_cast<std::int64_t>(number_of(words_, "hangs_for", 0)));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = workers_.size();
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, (*socket)->fd(), &event) != 0) give_up("epoll_ctl failed");
    workers_.push_back(
        std::make_unique<SimWorker>(std::move(*socket), node_name(number), behaviour));
  }

  Words words_;
  std::uint64_t first_ = 1;
  std::uint64_t count_ = 1;
  std::uint64_t hangs_ = 0;
  std::vector<KeyPair> keys_;
  LinkContext context_{1};
  int epoll_;
  std::vector<std::unique_ptr<SimWorker>> workers_;
  SimCounts counts_;
};

// Five descriptors a worker.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "keys")
    return make_keys(words[1], std::strtoull(words[2].c_str(), nullptr, 10));
  if (words.empty() || words[0] != "run") give_up("usage: bench_workers keys|run; see its source");
  Words options;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    if (at == std::string::npos) give_up("not of the form name=value: " + words[i]);
    options[words[i].substr(0, at)] = words[i].substr(at + 1);
  }
  for (const char* const needed : {"dir", "endpoint", "server"}) {
    if (options.count(needed) == 0) give_up(std::string("missing: ") + needed);
  }
  raise_descriptors();
  return Fleet(std::move(options)).run();
}
