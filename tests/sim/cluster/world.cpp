// One seed from the first boot to the last job.
#include "tests/sim/cluster/world.h"

#include "tests/sim/cluster/clients.h"
#include "tests/sim/cluster/controller.h"
#include "tests/sim/cluster/node.h"
#include "tests/sim/cluster/wire.h"

namespace muster::sim {
namespace {

constexpr Duration kDrainMax = seconds(1800);  // For everything that was begun, after healing.
constexpr Duration kFreshMax = seconds(60);    // For a fresh job after that (I9).

class Nemesis {
 public:
  explicit Nemesis(World& world) : world_(world) {}

  void begin() {
    world_.agenda.after(world_.up_to(world_.plan.nemesis_every * 2), [this] { turn(); });
  }

 private:
  void turn() {
    if (world_.healed) return;
    strike();
    begin();
  }

  Duration some(std::int64_t most_ms) { return world_.up_to(milliseconds(most_ms)); }

  void strike() {
    const Plan& plan = world_.plan;
    const std::uint32_t weights[] = {plan.kill_controller, plan.kill_worker, plan.kill_launcher,
                                     plan.reboot_node,     plan.cut_link,    plan.mute_link,
                                     plan.kill_shepherd,   plan.slow_disk};
    std::uint32_t total = 0;
    for (const std::uint32_t weight : weights) total += weight;
    if (total == 0) return;
    std::uint64_t dice = world_.rng.below(total);
    std::size_t kind = 0;
    for (; dice >= weights[kind]; ++kind) dice -= weights[kind];
    hit(kind, world_.rng.below(world_.nodes.size()));
  }

  void hit(std::size_t kind, std::size_t victim) {
    Node& node = *world_.nodes[victim];
    Wire& wire = *world_.wires[victim];
    switch (kind) {
      case 0:
        return world_.controller->crash(some(world_.rng.chance(200) ? 30000 : 3000));
      case 1:
        return node.kill_worker(some(2000));
      case 2:
        return node.kill_launcher(some(2000));
      case 3:
        return node.reboot(some(40000));
      case 4:
        return wire.cut(some(world_.rng.chance(200) ? 60000 : 3000));
      case 5:
        return wire.mute(world_.rng.chance(500), some(30000));
      case 6:
        return node.kill_shepherd();
      default:
        return world_.controller->stall_disk(some(5000));
    }
  }

  World& world_;
};

bool run_until(World& world, Instant until) {
  while (!world.checker.is_violated() && world.now() < until) {
    if (!world.agenda.run_next()) return true;
  }
  return !world.checker.is_violated();
}

bool is_drained(const World& world) {
  return world.clients->waiting() == 0 && world.controller->is_up() &&
         world.controller->engine().cluster().jobs_unfinished() == 0;
}

// Why what is left does not end, in the engine's own words.
std::string unfinished(const World& world) {
  if (!world.controller->is_up()) return "the controller is down";
  const Engine& engine = world.controller->engine();
  std::string text;
  for (const auto& [key, attempt] : engine.cluster().attempts()) {
    text += "; attempt " + muster::to_text(key) + " is " + std::string(name_of(attempt.state));
  }
  int told = 0;
  for (const auto& [id, job] : engine.cluster().jobs()) {
    if (job.is_ended() || ++told > 3) continue;
    const Element first = job.first_in(ElementState::kPending).value_or(Element{});
    const auto why = engine.explain(ElementKey{id, first}, world.now());
    if (why) text += "; job " + std::to_string(id.value) + ": " + why->sentence;
  }
  for (const auto& [id, node] : engine.cluster().nodes()) {
    text += "; " + node.name + " is " + std::string(name_of(node.state));
  }
  return text;
}

// Everything that was begun comes to its end, and then a job that needs all there is gets through.
void settle(World& world) {
  world.healed = true;
  world.note("healed");
  for (const auto& wire : world.wires) wire->try_connect(seconds(1));
  world.clients->clear_away();
  const Instant drained_by = world.now() + kDrainMax;
  while (!is_drained(world)) {
    if (!run_until(world, world.now() + seconds(1))) return;
    if (world.now() > drained_by)
      return world.checker.violate("I9: not everything ends: " + unfinished(world));
  }
  JobId fresh;
  world.clients->submit_widest([&fresh](JobId job) { fresh = job; });
  const Instant fresh_by = world.now() + kFreshMax;
  for (;;) {
    if (!run_until(world, world.now() + seconds(1))) return;
    const bool is_over = fresh.value != 0 && is_drained(world);
    if (is_over) return;
    if (world.now() > fresh_by)
      return world.checker.violate("I9: a fresh job does not complete: " + unfinished(world));
  }
}

}  // namespace

World::World(std::uint64_t seed, Planted with) : rng(seed), planted(with), plan(plan_of(rng)) {
  controller = std::make_unique<Controller>(*this);
  for (std::uint32_t i = 0; i < plan.nodes; ++i) {
    nodes.push_back(std::make_unique<Node>(*this, i));
    wires.push_back(std::make_unique<Wire>(*this, i));
  }
  clients = std::make_unique<Clients>(*this);
}

World::~World() = default;

Verdict run_seed(std::uint64_t seed, Planted planted, bool keep_lines) {
  World world(seed, planted);
  if (keep_lines) world.trace.keep_lines();
  Nemesis nemesis(world);
  world.controller->start();
  for (const auto& node : world.nodes) node->power_on();
  world.clients->begin();
  nemesis.begin();
  const Instant began = world.now();
  if (run_until(world, began + world.plan.chaos)) settle(world);
  Verdict verdict;
  verdict.violation = world.checker.violation();
  verdict.hash = world.trace.hash();
  verdict.simulated = world.now() - began;
  verdict.acknowledged = world.checker.acknowledged();
  verdict.starts = world.checker.starts();
  verdict.plan = to_text(world.plan);
  verdict.lines = world.trace.lines();
  return verdict;
}

}  // namespace muster::sim
