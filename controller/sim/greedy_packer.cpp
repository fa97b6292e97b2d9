// The policies to compare with: each pod goes where a score, worked out for every node and GPU that
// it fits on, is least; of equal ones to the node that comes first.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/types/resources.h"
#include "controller/sim/packer.h"

namespace muster {
namespace {

struct Free {
  std::uint32_t cpu_milli = 0;
  std::uint64_t memory_mib = 0;
  std::vector<std::uint32_t> gpus;  // Milli of each, the freest first.
  std::string model;
  auto operator<=>(const Free&) const = default;
  std::uint64_t milli() const {
    std::uint64_t sum = 0;
    for (const std::uint32_t gpu : gpus) sum += gpu;
    return sum;
  }
};

bool accepts(const OpenbPod& pod, const std::string& model) {
  return pod.models.empty() || std::binary_search(pod.models.begin(), pod.models.end(), model);
}

bool fits(const Free& free, const OpenbPod& pod) {
  if (free.cpu_milli < pod.cpu_milli || free.memory_mib < pod.memory_mib) return false;
  if (pod.gpus == 0) return true;
  if (free.gpus.size() < pod.gpus || !accepts(pod, free.model)) return false;
  return free.gpus[pod.gpus - 1] >= pod.gpu_milli;
}

// With the pod on it. `gpu` is where its share is taken of; several whole GPUs are the last whole
// ones.
Free after(const Free& free, const OpenbPod& pod, std::size_t gpu) {
  Free left = free;
  left.cpu_milli -= pod.cpu_milli;
  left.memory_mib -= pod.memory_mib;
  for (std::size_t i = 0; i < pod.gpus; ++i) left.gpus[gpu - i] -= pod.gpu_milli;
  std::sort(left.gpus.rbegin(), left.gpus.rend());
  return left;
}

// Nodes by what of them is free: alike ones are weighed once for each kind of pod. The number of a
// state that no node is in any more is given to another, with a new version.
class Greedy : public Packer {
 public:
  explicit Greedy(const OpenbTrace& trace) {
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      const OpenbNode& node = trace.nodes[i];
      enter(i, {node.cpu_milli, node.memory_mib,
                std::vector<std::uint32_t>(node.gpus, kMilliPerGpu), node.model});
    }
    for (const OpenbPod& pod : trace.pods) {
      const auto [it, is_new] = ids_.try_emplace(pod, shapes_.size());
      if (is_new) shapes_.push_back({&pod, 0, {}});
      ++shapes_[it->second].pods;
      shape_of_.push_back(it->second);
    }
  }

  bool place(std::size_t pod) override {
    Shape& shape = shapes_[shape_of_[pod]];
    shape.known.resize(states_.size());
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const State& state = states_[i];
      if (state.nodes.empty()) continue;
      Known& known = shape.known[i];
      if (known.version != state.version) known = weigh(state.free, *shape.pod, state.version);
      if (known.fits && (!best || comes_before(shape, i, *best))) best = i;
    }
    if (!best) return false;
    const std::size_t node = *states_[*best].nodes.begin();
    const Free left = after(states_[*best].free, *shape.pod, shape.known[*best].gpu);
    leave(node, *best);
    enter(node, left);
    return true;
  }

 protected:
  using Score = std::pair<double, double>;
  virtual Score score(const Free& before, const Free& left, std::uint32_t gpu_free) = 0;

  struct Known {
    std::uint32_t version = 0;
    bool fits = false;
    std::size_t gpu = 0;
    Score score;
  };
  struct Shape {
    const OpenbPod* pod = nullptr;
    std::uint64_t pods = 0;
    std::vector<Known> known;  // By state.
  };
  const std::vector<Shape>& shapes() const { return shapes_; }
  std::size_t pods() const { return shape_of_.size(); }

 private:
  struct State {
    Free free;
    std::uint32_t version = 0;
    std::set<std::size_t> nodes;
  };

  bool comes_before(const Shape& shape, std::size_t a, std::size_t b) const {
    const Score& first = shape.known[a].score;
    const Score& second = shape.known[b].score;
    if (first != second) return first < second;
    return *states_[a].nodes.begin() < *states_[b].nodes.begin();
  }

  void enter(std::size_t node, const Free& free) {
    const auto [it, is_new] = state_of_.try_emplace(free, unused_.empty() ? states_.size() : 0);
    if (is_new && unused_.empty()) {
      states_.emplace_back();
    } else if (is_new) {
      it->second = unused_.back();
      unused_.pop_back();
    }
    State& state = states_[it->second];
    if (is_new) {
      state.free = free;
      ++state.version;
    }
    state.nodes.insert(node);
  }

  void leave(std::size_t node, std::size_t id) {
    State& state = states_[id];
    state.nodes.erase(node);
    if (!state.nodes.empty()) return;
    state_of_.erase(state.free);
    unused_.push_back(id);
  }

  Known weigh(const Free& free, const OpenbPod& pod, std::uint32_t version) {
    Known known{version, fits(free, pod), 0, {}};
    if (!known.fits) return known;
    bool any = false;
    for (const std::size_t gpu : choices(free, pod)) {
      const std::uint32_t gpu_free = pod.gpus == 0 ? 0 : free.gpus[gpu];
      const Score found = score(free, after(free, pod, gpu), gpu_free);
      if (any && !(found < known.score)) continue;
      any = true;
      known.gpu = gpu;
      known.score = found;
    }
    return known;
  }

  // The last of each run of equal GPUs that do.
  static std::vector<std::size_t> choices(const Free& free, const OpenbPod& pod) {
    if (pod.gpus == 0) return {0};
    std::vector<std::size_t> gpus;
    for (std::size_t i = 0; i < free.gpus.size() && free.gpus[i] >= pod.gpu_milli; ++i) {
      const bool is_last = i + 1 == free.gpus.size() || free.gpus[i + 1] != free.gpus[i];
      if (is_last && i + 1 >= pod.gpus) gpus.push_back(i);
    }
    return gpus;
  }

  std::vector<State> states_;
  std::map<Free, std::size_t> state_of_;
  std::vector<std::size_t> unused_;
  std::map<OpenbPod, std::size_t> ids_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> shape_of_;  // By pod.
};

class Fgd : public Greedy {
 public:
  explicit Fgd(const OpenbTrace& trace) : Greedy(trace) {}

 private:
  // Scores are whole numbers from 0 to 100, by a logistic curve, as the paper's scheduler has them.
  Score score(const Free& before, const Free& left, std::uint32_t) override {
    const double growth = known_fragment(left) - known_fragment(before);
    return {-std::floor(100 / (1 + std::exp(growth / kMilliPerGpu))), 0};
  }

  double known_fragment(const Free& free) {
    const auto [it, is_new] = fragments_.try_emplace(free, 0);
    if (is_new) it->second = fragment(free);
    return it->second;
  }

  // GPU that a pod drawn from the list could not use, in the mean.
  double fragment(const Free& free) const {
    const auto total = static_cast<double>(free.milli());
    if (total == 0) return 0;
    double sum = 0;
    for (const Shape& shape : shapes()) {
      const OpenbPod& pod = *shape.pod;
      double lost = total;
      if (pod.gpus != 0 && fits(free, pod)) {
        lost = 0;
        for (const std::uint32_t gpu : free.gpus) lost += gpu < pod.gpu_milli ? gpu : 0;
      }
      sum += static_cast<double>(shape.pods) * lost;
    }
    return sum / static_cast<double>(pods());
  }

  std::map<Free, double> fragments_;
};

class Bestfit : public Greedy {
 public:
  explicit Bestfit(const OpenbTrace& trace) : Greedy(trace) {
    for (const OpenbNode& node : trace.nodes) {
      cpu_most_ = std::max(cpu_most_, static_cast<double>(node.cpu_milli));
      milli_most_ = std::max(milli_most_, static_cast<double>(node.gpus) * kMilliPerGpu);
    }
  }

 private:
  Score score(const Free&, const Free& left, std::uint32_t gpu_free) override {
    const double rest = static_cast<double>(left.cpu_milli) / std::max(cpu_most_, 1.0) +
                        static_cast<double>(left.milli()) / milli_most_;
    return {rest, static_cast<double>(gpu_free)};
  }
  double cpu_most_ = 0;
  double milli_most_ = 0;
};

}  // namespace

std::unique_ptr<Packer> make_fgd_packer(const OpenbTrace& trace) {
  return std::make_unique<Fgd>(trace);
}

std::unique_ptr<Packer> make_bestfit_packer(const OpenbTrace& trace) {
  return std::make_unique<Bestfit>(trace);
}

}  // namespace muster
