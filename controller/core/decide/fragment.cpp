// Weighing states and walking them in order.
#include "controller/core/decide/fragment.h"

#include <algorithm>
#include <tuple>

#include "controller/core/decide/ledger.h"

namespace muster {
namespace {

constexpr std::size_t kEmptyKept = 1024;  // States without nodes, beside as many as have some.

auto content_of(const FreeState& state) {
  return std::tie(state.cpus, state.memory_gib, state.gpus, state.memory_gib_total);
}

}  // namespace

void Fragments::clear(std::set<std::string> queues_listed) {
  *this = Fragments{};
  queues_listed_ = std::move(queues_listed);
}

void Fragments::touch(NodeId node) {
  if (node.value >= is_touched_.size()) is_touched_.resize(node.value + 1);
  if (is_touched_[node.value]) return;
  is_touched_[node.value] = true;
  touched_.push_back(node);
}

void Fragments::sync(const Books& books) {
  if (mix_to_ != books.arrivals.counted_to() || worth_.classes_known() != books.classes.size())
    renew_worth(books);
  for (const NodeId node : touched_) {
    is_touched_[node.value] = false;
    place_node(books, node);
  }
  touched_.clear();
  const bool is_long = journal_.size() > 4 * slots_.size() + kEmptyKept;
  if (is_long || empty_ > slots_.size() / 2 + kEmptyKept) compact();
}

void Fragments::renew_worth(const Books& books) {
  mix_to_ = books.arrivals.counted_to();
  worth_.set_mix(books.classes, books.arrivals.shapes(), queues_listed_);
  lists_.clear();
  for (Slot& slot : slots_) slot.value.reset();
}

void Fragments::leave_state(NodeId node) {
  std::optional<StateId>& at = state_at_[node.value];
  if (!at) return;
  Slot& slot = slots_[*at];
  slot.nodes.erase(node);
  if (slot.nodes.empty()) ++empty_;
  worth_.add_free(slot.state.node_class, 0, slot.state.milli);
  at.reset();
}

void Fragments::place_node(const Books& books, NodeId id) {
  if (id.value >= state_at_.size()) state_at_.resize(id.value + 1);
  const NodeFree& node = books.nodes[id.value];
  const bool is_valued = node.usable() && worth_.layout(node.node_class).is_valued();
  if (!is_valued) return leave_state(id);
  const FreeState state = free_state(node, worth_.layout(node.node_class));
  std::optional<StateId>& at = state_at_[id.value];
  if (at && slots_[*at].state == state) return;
  leave_state(id);
  at = state_of(state);
  Slot& slot = slots_[*at];
  if (slot.nodes.empty()) {
    --empty_;
    journal_.push_back(*at);
  }
  slot.nodes.insert(id);
  worth_.add_free(state.node_class, state.milli, 0);
}

Fragments::StateId Fragments::state_of(const FreeState& state) {
  const auto [it, is_new] = ids_.try_emplace(state, static_cast<StateId>(slots_.size()));
  if (is_new) {
    slots_.push_back(Slot{state, {}, {}});
    ++empty_;
  }
  return it->second;
}

std::uint64_t Fragments::value_in(StateId id) {
  Slot& slot = slots_[id];
  if (!slot.value) slot.value = worth_.value(slot.state);
  return *slot.value;
}

// Forgets the states that no node is in: memory stays in proportion to the nodes.
void Fragments::compact() {
  std::vector<std::optional<StateId>> moved(slots_.size());
  std::vector<Slot> kept;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].nodes.empty()) continue;
    moved[i] = static_cast<StateId>(kept.size());
    kept.push_back(std::move(slots_[i]));
  }
  slots_ = std::move(kept);
  empty_ = 0;
  ids_.clear();
  journal_.clear();
  for (StateId id = 0; id < slots_.size(); ++id) {
    ids_.emplace(slots_[id].state, id);
    journal_.push_back(id);
    for (const NodeId node : slots_[id].nodes) state_at_[node.value] = id;
  }
  for (auto& [ask, list] : lists_) {
    std::vector<bool> known(slots_.size());
    for (std::size_t i = 0; i < list.known.size(); ++i) {
      if (list.known[i] && moved[i]) known[*moved[i]] = true;
    }
    list.known = std::move(known);
    list.read = 0;
    list.partial = false;
    list.size = 0;
    for (auto& [node_class, ranked] : list.ranked) {
      std::vector<Ranked> alive;
      for (Ranked one : ranked) {
        if (!moved[one.state]) continue;
        one.state = *moved[one.state];
        alive.push_back(one);
      }
      ranked = std::move(alive);
      list.size += ranked.size();
    }
  }
}

bool Fragments::ranks_before(const Ranked& a, const Ranked& b) const {
  if (a.loss != b.loss) return a.loss < b.loss;
  if (a.left != b.left) return a.left < b.left;
  return content_of(slots_[a.state].state) < content_of(slots_[b.state].state);
}

// It lacks states, while half of those it has are no more.
bool Fragments::is_worn(const List& list) const {
  if (!list.partial) return false;
  std::size_t alive = 0;
  for (const auto& [node_class, ranked] : list.ranked) {
    for (const Ranked& one : ranked) alive += slots_[one.state].nodes.empty() ? 0U : 1U;
  }
  return alive < kStatesWeighedMax / 2;
}

Fragments::List& Fragments::list_for(const NodeAsk& ask, const std::vector<ClassId>& classes) {
  const auto [it, is_new] = lists_.try_emplace(ask);
  List& list = it->second;
  if (!is_new && is_worn(list)) list = List{};
  list.used = ++walks_;
  if (!list.ranked.empty()) return list;
  for (const ClassId id : classes) list.ranked[id];
  if (lists_.size() <= kAsksKeptMax) return list;
  lists_.erase(std::min_element(lists_.begin(), lists_.end(), [](const auto& a, const auto& b) {
    return a.second.used < b.second.used;
  }));
  return list;
}

// Weighs the states that nodes came into since the list was used last.
std::uint32_t Fragments::catch_up(const Books& books, const NodeAsk& ask, List& list) {
  list.known.resize(slots_.size());
  std::vector<StateId> fresh;
  for (; list.read < journal_.size(); ++list.read) {
    const StateId id = journal_[list.read];
    if (list.known[id] || slots_[id].nodes.empty()) continue;
    if (list.ranked.count(slots_[id].state.node_class) != 0) fresh.push_back(id);
  }
  if (fresh.empty()) return 0;
  if (list.size + fresh.size() > kStatesWeighedMax) {
    std::sort(fresh.begin(), fresh.end(), [&](StateId a, StateId b) {
      const FreeState& first = slots_[a].state;
      const FreeState& second = slots_[b].state;
      return std::tie(first.milli, first) < std::tie(second.milli, second);
    });
  }
  std::uint32_t weighed = 0;
  std::map<ClassId, std::size_t> sorted;
  for (const auto& [node_class, ranked] : list.ranked) sorted[node_class] = ranked.size();
  for (const StateId id : fresh) {
    if (list.known[id]) continue;  // Came twice.
    if (list.size >= kStatesWeighedMax) {
      list.partial = true;
      break;
    }
    weighed += weigh(books, ask, list, id);
  }
  const auto before = [this](const Ranked& a, const Ranked& b) { return ranks_before(a, b); };
  for (auto& [node_class, ranked] : list.ranked) {
    const auto middle = ranked.begin() + static_cast<std::ptrdiff_t>(sorted[node_class]);
    if (middle == ranked.end()) continue;
    std::sort(middle, ranked.end(), before);
    std::inplace_merge(ranked.begin(), middle, ranked.end(), before);
  }
  return weighed;
}

// Answers how many values it took.
std::uint32_t Fragments::weigh(const Books& books, const NodeAsk& ask, List& list, StateId id) {
  list.known[id] = true;
  const FreeState& state = slots_[id].state;
  const std::vector<FreeState> after = states_after(ask.group, books.classes[state.node_class],
                                                    worth_.layout(state.node_class), state);
  if (after.empty()) return 0;
  Ranked ranked{0, after.front().milli, id};
  const std::uint64_t value = value_in(id);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::int64_t loss = worth_.loss(value, worth_.value(after[i]));
    if (i == 0 || loss < ranked.loss) ranked.loss = loss;
  }
  list.ranked[state.node_class].push_back(ranked);
  ++list.size;
  return static_cast<std::uint32_t>(after.size());
}

Fragments::Walk Fragments::walk(const Books& books, const NodeAsk& ask,
                                const std::vector<ClassId>& classes) {
  sync(books);
  List& list = list_for(ask, classes);
  Walk walk(*this);
  walk.weighed_ = catch_up(books, ask, list);
  walk.partial_ = list.partial;
  const std::uint64_t milli = std::uint64_t{ask.group.gpus_per_node} * ask.group.gpu_milli;
  for (const ClassId id : classes) {
    if (!worth_.layout(id).is_valued()) walk.partial_ = true;
    Source source{&list.ranked[id], 0, worth_.price(id, milli)};
    if (walk.skip_empty(source)) walk.sources_.push_back(source);
  }
  std::make_heap(walk.sources_.begin(), walk.sources_.end(),
                 [&walk](const Source& a, const Source& b) { return walk.comes_later(a, b); });
  return walk;
}

std::int64_t Fragments::cost_on_gpu(const Books& books, const Group& group, const NodeFree& node,
                                    std::size_t gpu) {
  sync(books);
  const ClassLayout& layout = worth_.layout(node.node_class);
  if (!layout.is_valued()) return 0;
  return worth_.loss(0, worth_.value(state_after_on(group, node, layout, gpu)));
}

bool Fragments::Walk::skip_empty(Source& source) const {
  while (source.at < source.ranked->size() &&
         of_->slots_[(*source.ranked)[source.at].state].nodes.empty())
    ++source.at;
  return source.at < source.ranked->size();
}

bool Fragments::Walk::comes_later(const Source& a, const Source& b) const {
  const Ranked& first = (*a.ranked)[a.at];
  const Ranked& second = (*b.ranked)[b.at];
  const std::int64_t cost = first.loss + a.price;
  const std::int64_t cost_other = second.loss + b.price;
  if (cost != cost_other) return cost > cost_other;
  if (first.left != second.left) return first.left > second.left;
  const Slot& slot = of_->slots_[first.state];
  const Slot& other = of_->slots_[second.state];
  if (content_of(slot.state) != content_of(other.state))
    return content_of(slot.state) > content_of(other.state);
  return *slot.nodes.begin() > *other.nodes.begin();
}

std::optional<NodeId> Fragments::Walk::next() {
  if (nodes_ == nullptr) {
    if (sources_.empty()) return std::nullopt;
    const auto later = [this](const Source& a, const Source& b) { return comes_later(a, b); };
    std::pop_heap(sources_.begin(), sources_.end(), later);
    Source& source = sources_.back();
    nodes_ = &of_->slots_[(*source.ranked)[source.at].state].nodes;
    node_ = nodes_->begin();
    ++source.at;
    if (skip_empty(source))
      std::push_heap(sources_.begin(), sources_.end(), later);
    else
      sources_.pop_back();
  }
  const NodeId node = *node_;
  if (++node_ == nodes_->end()) nodes_ = nullptr;
  return node;
}

}  // namespace muster
