// Valuing free capacity.
#include "controller/core/decide/worth.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "controller/core/decide/ledger.h"
#include "controller/core/decide/place.h"

namespace muster {
namespace {

// Fixed point: shares and values with 30 and 28 bits behind the point, losses and prices with 20,
// copies and their ratios with 16.
constexpr std::uint64_t kShareOne = std::uint64_t{1} << 30U;
constexpr std::uint64_t kLossOne = std::uint64_t{1} << 20U;
constexpr std::uint64_t kRatioOne = std::uint64_t{1} << 16U;
constexpr std::uint64_t kPerUnitOne = std::uint64_t{1} << 32U;
constexpr std::uint64_t kPressure = 500;  // In milli, for each GPU asked for at a pressure of one.
constexpr std::uint64_t kPressureMax = 20;  // How crowded a class can count at most.
constexpr std::uint64_t kUnitsMax = std::uint64_t{1} << 30U;  // CPUs or GiB of a node that count.
constexpr std::uint64_t kMibPerGib = 1024;

// How many times `each` goes into what a node has, at most `most`, as part of `most`. lambda is
// 1/4: the result is 3/4 and a quarter of that, with 18 bits behind the point.
std::uint64_t usable_part(std::uint64_t copies, std::uint64_t most) {
  const std::uint64_t ratio = copies >= most * kRatioOne ? kRatioOne : copies / most;
  return 3 * kRatioOne + ratio;
}

void sort_runs(const ClassLayout& layout, FreeState& state) {
  std::size_t from = 0;
  for (const std::uint32_t end : layout.runs) {
    std::sort(state.gpus.begin() + static_cast<std::ptrdiff_t>(from),
              state.gpus.begin() + static_cast<std::ptrdiff_t>(end), std::greater<>());
    from = end;
  }
}

// Of the GPUs accepted: free milli on those with room for a copy, and how many copies they hold.
struct Room {
  std::uint32_t milli = 0;
  std::uint32_t copies = 0;
};

Room room_for(const FreeState& state, std::uint32_t accepted, std::uint32_t milli,
              std::uint32_t gpus) {
  Room room;
  std::uint32_t parts = 0;
  std::uint32_t with_room = 0;
  for (std::uint32_t rest = accepted, i = 0; rest != 0; rest >>= 1U, ++i) {
    const std::uint32_t free = (rest & 1U) != 0 ? state.gpus[i] : 0;
    if (free < milli) continue;
    ++with_room;
    room.milli += free;
    parts += milli > kMilliPerGpu / 2 ? 1 : free / milli;
  }
  if (with_room >= gpus) room.copies = parts / gpus;
  return room;
}

std::uint64_t memory_max(const NodeClass& node_class) {
  return node_class.memories.empty() ? 0 : node_class.memories.rbegin()->first;
}

// Whether an idle node of the class could serve the shape.
bool could_serve(const NodeClass& node_class, const MixShape& shape,
                 const std::set<std::string>& queues_listed) {
  const auto& queues = node_class.traits.queues;
  if (queues_listed.count(shape.ask.queue) != 0 &&
      !std::binary_search(queues.begin(), queues.end(), shape.ask.queue))
    return false;
  const std::uint64_t memory = memory_max(node_class);
  return idle_failed(shape.ask.group, node_class) == Constraint::kFits &&
         memory_needed(shape.ask.group, node_class, memory) <= memory;
}

std::uint64_t milli_of(const MixShape& shape) {
  return shape.count * shape.ask.group.gpus_per_node * shape.ask.group.gpu_milli;
}

}  // namespace

ClassLayout layout_of(const NodeClass& node_class) {
  const auto& gpus = node_class.traits.gpus;
  ClassLayout layout;
  layout.order.resize(gpus.size());
  std::iota(layout.order.begin(), layout.order.end(), 0U);
  std::stable_sort(layout.order.begin(), layout.order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return gpus[a] < gpus[b]; });
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    if (i + 1 == gpus.size() || gpus[layout.order[i]] != gpus[layout.order[i + 1]])
      layout.runs.push_back(i + 1);
  }
  return layout;
}

FreeState free_state(const NodeFree& node, const ClassLayout& layout) {
  FreeState state;
  state.node_class = node.node_class;
  state.memory_gib_total = static_cast<std::uint32_t>(node.memory_mib_total / kMibPerGib);
  state.cpus = node.cpus_free();
  state.memory_gib = static_cast<std::uint32_t>(node.memory_mib_free() / kMibPerGib);
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    const GpuFree& gpu = node.gpus[layout.order[i]];
    const std::uint32_t free = gpu.ready ? gpu.milli_free : 0;
    state.gpus[i] = static_cast<std::uint16_t>(free);
    state.milli += free;
  }
  sort_runs(layout, state);
  return state;
}

void Worth::set_mix(const std::vector<NodeClass>& classes, const std::vector<MixShape>& mix,
                    const std::set<std::string>& queues_listed) {
  std::uint64_t count = 0;
  for (const MixShape& shape : mix) count += shape.count;
  layouts_.clear();
  bundles_.clear();
  free_.resize(classes.size());
  std::vector<std::vector<ClassId>> classes_of(mix.size());
  for (ClassId id = 0; id < classes.size(); ++id) {
    layouts_.push_back(layout_of(classes[id]));
    Bundles bundles;
    for (std::size_t i = 0; i < mix.size() && layouts_.back().is_valued(); ++i) {
      if (!could_serve(classes[id], mix[i], queues_listed)) continue;
      classes_of[i].push_back(id);
      const std::uint64_t share = mix[i].count * kShareOne / count;
      add_want(bundles, classes[id], mix[i].ask.group, share);
    }
    bundles_.emplace_back();
    for (auto& [key, bundle] : bundles) bundles_.back().push_back(std::move(bundle));
  }
  set_crowds(mix, classes_of);
}

void Worth::add_want(Bundles& bundles, const NodeClass& node_class, const Group& group,
                     std::uint64_t share) const {
  const std::uint32_t accepted = accepted_gpus(group, node_class, layouts_.back());
  Bundle& bundle = bundles[{group.gpu_milli, group.gpus_per_node, accepted}];
  bundle.milli = group.gpu_milli;
  bundle.gpus = group.gpus_per_node;
  bundle.accepted = accepted;
  // Whole GiB on both sides: what fits exactly still does. A share of the memory always goes with
  // the GPUs.
  const std::uint64_t memory_gib = group.memory_mib_per_node / kMibPerGib;
  Want want{group.cpus_per_node, memory_gib, 0, 0, share};
  if (want.cpus != 0) want.copies_per_cpu = kPerUnitOne / want.cpus;
  if (want.memory_gib != 0) want.copies_per_gib = kPerUnitOne / want.memory_gib;
  bundle.wants.push_back(want);
}

void Worth::set_crowds(const std::vector<MixShape>& mix,
                       const std::vector<std::vector<ClassId>>& classes_of) {
  std::uint64_t asked = 0;
  std::map<std::vector<ClassId>, std::uint64_t> asked_of;
  for (std::size_t i = 0; i < mix.size(); ++i) {
    asked += milli_of(mix[i]);
    if (!classes_of[i].empty()) asked_of[classes_of[i]] += milli_of(mix[i]);
  }
  crowds_.clear();
  crowds_of_.assign(layouts_.size(), {});
  for (const auto& [classes, milli] : asked_of) {
    Crowd crowd{milli * kLossOne / asked, 0};
    for (const ClassId id : classes) {
      crowds_of_[id].push_back(crowds_.size());
      crowd.milli += free_[id];
    }
    crowds_.push_back(crowd);
  }
}

void Worth::add_free(ClassId id, std::uint64_t more, std::uint64_t less) {
  free_[id] += more - less;
  free_all_ += more - less;
  for (const std::size_t crowd : crowds_of_[id]) crowds_[crowd].milli += more - less;
}

std::uint64_t Worth::value(const FreeState& state) const {
  const std::uint64_t cpus = std::min<std::uint64_t>(state.cpus, kUnitsMax);
  const std::uint64_t memory_gib = std::min<std::uint64_t>(state.memory_gib, kUnitsMax);
  std::uint64_t value = 0;
  for (const Bundle& bundle : bundles_[state.node_class]) {
    const Room room = room_for(state, bundle.accepted, bundle.milli, bundle.gpus);
    if (room.copies == 0) continue;
    std::uint64_t part = 0;
    for (const Want& want : bundle.wants) {
      if (cpus < want.cpus || memory_gib < want.memory_gib) continue;
      std::uint64_t copies = room.copies * kRatioOne;
      if (want.cpus != 0) copies = std::min(copies, cpus * want.copies_per_cpu >> 16U);
      if (want.memory_gib != 0) copies = std::min(copies, memory_gib * want.copies_per_gib >> 16U);
      part += want.share * usable_part(copies, room.copies);
    }
    value += (part >> 20U) * room.milli;
  }
  return value;
}

std::int64_t Worth::loss(std::uint64_t before, std::uint64_t after) const {
  const auto lost = static_cast<std::int64_t>(before) - static_cast<std::int64_t>(after);
  return (lost + 128) / 256;
}

std::int64_t Worth::price(ClassId id, std::uint64_t milli) const {
  std::uint64_t pressure = 0;
  for (const std::size_t i : crowds_of_[id]) {
    const Crowd& crowd = crowds_[i];
    pressure += crowd.share * free_all_ / std::max<std::uint64_t>(crowd.milli, kMilliPerGpu);
  }
  pressure = std::min(pressure, kPressureMax * kLossOne);
  return static_cast<std::int64_t>(kPressure * pressure * milli / kMilliPerGpu);
}

std::uint32_t accepted_gpus(const Group& group, const NodeClass& node_class,
                            const ClassLayout& layout) {
  std::uint32_t accepted = 0;
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    const auto& [type, memory] = node_class.traits.gpus[layout.order[i]];
    if (gpu_accepted(group, type, memory)) accepted |= 1U << i;
  }
  return accepted;
}

namespace {

// The GPUs that can serve a copy's part: the best type first, then the fullest.
std::vector<std::uint32_t> able_gpus(const Group& group, const NodeClass& node_class,
                                     const ClassLayout& layout, const FreeState& state) {
  std::vector<std::tuple<std::size_t, std::uint16_t, std::uint32_t>> able;
  for (std::uint32_t i = 0; i < layout.order.size(); ++i) {
    const auto& [type, memory] = node_class.traits.gpus[layout.order[i]];
    if (state.gpus[i] < group.gpu_milli || !gpu_accepted(group, type, memory)) continue;
    able.emplace_back(type_rank(group, type), state.gpus[i], i);
  }
  std::sort(able.begin(), able.end());
  std::vector<std::uint32_t> gpus;
  if (able.size() < group.gpus_per_node) return gpus;
  for (const auto& [rank, free, gpu] : able) {
    if (group.gpus_per_node == 1 && rank != std::get<0>(able.front())) break;
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

std::vector<FreeState> states_after(const Group& group, const NodeClass& node_class,
                                    const ClassLayout& layout, const FreeState& state) {
  const std::uint64_t total = std::uint64_t{state.memory_gib_total} * kMibPerGib;
  const std::uint64_t need_gib = memory_needed(group, node_class, total) / kMibPerGib;
  if (state.cpus < group.cpus_per_node || state.memory_gib < need_gib) return {};
  FreeState left = state;
  left.cpus -= group.cpus_per_node;
  left.memory_gib -= static_cast<std::uint32_t>(need_gib);
  if (group.gpus_per_node == 0) return {left};
  left.milli -= group.gpus_per_node * group.gpu_milli;
  const std::vector<std::uint32_t> able = able_gpus(group, node_class, layout, state);
  if (able.empty()) return {};
  const auto take = [&](FreeState& after, std::uint32_t gpu) {
    after.gpus[gpu] = static_cast<std::uint16_t>(after.gpus[gpu] - group.gpu_milli);
  };
  std::vector<FreeState> states;
  if (group.gpus_per_node == 1) {
    for (std::size_t i = 0; i < able.size(); ++i) {
      if (i != 0 && state.gpus[able[i]] == state.gpus[able[i - 1]]) continue;
      states.push_back(left);
      take(states.back(), able[i]);
      sort_runs(layout, states.back());
    }
    return states;
  }
  for (std::uint32_t i = 0; i < group.gpus_per_node; ++i) take(left, able[i]);
  sort_runs(layout, left);
  return {left};
}

FreeState state_after_on(const Group& group, const NodeFree& node, const ClassLayout& layout,
                         std::size_t gpu) {
  NodeFree after = node;
  after.cpus_used += group.cpus_per_node;
  after.memory_mib_used += memory_needed(group, node);
  after.gpus[gpu].milli_free -= group.gpu_milli;
  return free_state(after, layout);
}

}  // namespace muster
