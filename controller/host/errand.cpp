// Effects made self-contained.
#include "controller/host/errand.h"

namespace muster {

namespace {

std::shared_ptr<const LaunchFacts> launch_facts(const Attempt& attempt, const Engine& engine) {
  const Cluster& cluster = engine.cluster();
  const Job* job = cluster.find_job(attempt.key.job);
  auto facts = std::make_shared<LaunchFacts>();
  facts->key = attempt.key;
  facts->epoch = cluster.epoch();
  facts->job = job->facts_shared();
  facts->place = attempt.place;
  for (const Member& member : attempt.place->members) {
    const Node* node = cluster.find_node(member.node);
    facts->node_names.push_back(node == nullptr ? "" : node->name);
  }
  const QueueConfig* queue = cluster.find_queue(job->facts().queue());
  facts->kill_wait = queue == nullptr ? QueueConfig{}.kill_wait : queue->kill_wait;
  return facts;
}

std::vector<OrderDevice> devices_of(const Member& member, const Node& node) {
  std::vector<OrderDevice> devices;
  for (const Grant& grant : member.grants) {
    for (std::size_t i = 0; i < node.device_ids.size(); ++i) {
      if (node.device_ids[i] != grant.device) continue;
      const GpuFacts& gpu = node.inventory.gpus[i];
      devices.push_back({gpu.uuid, gpu.index, gpu.minor, gpu.device_path});
    }
  }
  return devices;
}

class ErrandMaker {
 public:
  explicit ErrandMaker(const Engine& engine) : engine_(engine) {}

  void operator()(const SendPrepare& effect) {
    const Attempt* attempt = engine_.cluster().find_attempt(effect.key);
    const Node* node = engine_.cluster().find_node(effect.node);
    if (attempt == nullptr || node == nullptr) return;
    if (facts_ == nullptr || facts_->key != effect.key) facts_ = launch_facts(*attempt, engine_);
    const auto& members = attempt->place->members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].node != effect.node) continue;
      add(effect.node,
          PrepareErrand{facts_, static_cast<std::uint32_t>(i), devices_of(members[i], *node)});
    }
  }
  void operator()(const SendGo& effect) {
    const Attempt* attempt = engine_.cluster().find_attempt(effect.key);
    if (attempt == nullptr) return;
    add(effect.node, GoErrand{effect.key, engine_.cluster().epoch(), attempt->master_address(),
                              attempt->ports()});
  }
  void operator()(const SendKill& effect) { add(effect.node, effect); }
  void operator()(const SendSignal& effect) { add(effect.node, effect); }
  void operator()(const SendForget& effect) { add(effect.node, effect); }

  std::vector<Errand> made;

 private:
  template <class T>
  void add(NodeId id, T what) {
    const Node* node = engine_.cluster().find_node(id);
    if (node != nullptr) made.push_back({node->name, std::move(what)});
  }

  const Engine& engine_;
  std::shared_ptr<const LaunchFacts> facts_;
};

}  // namespace

std::vector<Errand> errands_of(const std::vector<Effect>& effects, const Engine& engine) {
  ErrandMaker maker(engine);
  for (const Effect& effect : effects) std::visit(maker, effect);
  return std::move(maker.made);
}

}  // namespace muster
