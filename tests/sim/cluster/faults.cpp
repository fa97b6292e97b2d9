// Every seed has its own mix: some kinds of trouble are absent, so that the others get deeper.
#include "tests/sim/cluster/faults.h"

namespace muster::sim {
namespace {

std::uint32_t sometimes(Rng& rng, std::uint32_t max) {
  return rng.chance(500) ? static_cast<std::uint32_t>(rng.between(1, max)) : 0;
}

Duration up_to_ms(Rng& rng, std::uint64_t max) {
  return milliseconds(static_cast<std::int64_t>(rng.between(1, max)));
}

}  // namespace

Plan plan_of(Rng& rng) {
  Plan plan;
  plan.nodes = static_cast<std::uint32_t>(rng.between(2, 5));
  plan.gpus = static_cast<std::uint32_t>(rng.between(1, 4));
  plan.jobs = static_cast<std::uint32_t>(rng.between(8, 30));
  plan.chaos = seconds(static_cast<std::int64_t>(rng.between(40, 120)));
  plan.loss = sometimes(rng, 200);
  plan.repeat = sometimes(rng, 200);
  plan.reorder = sometimes(rng, 300);
  plan.delay_max = up_to_ms(rng, rng.chance(300) ? 1500 : 20);
  plan.sync_max = up_to_ms(rng, rng.chance(300) ? 1000 : 20);
  plan.reply_loss = sometimes(rng, 300);
  plan.kill_controller = sometimes(rng, 10);
  plan.kill_worker = sometimes(rng, 10);
  plan.kill_launcher = sometimes(rng, 10);
  plan.reboot_node = sometimes(rng, 5);
  plan.cut_link = sometimes(rng, 10);
  plan.mute_link = sometimes(rng, 5);
  plan.kill_shepherd = sometimes(rng, 5);
  plan.slow_disk = sometimes(rng, 5);
  plan.nemesis_every = milliseconds(200) + up_to_ms(rng, 8000);
  return plan;
}

std::string to_text(const Plan& plan) {
  std::string text;
  const auto add = [&text](const char* name, std::int64_t value) {
    text += (text.empty() ? "" : " ") + std::string(name) + "=" + std::to_string(value);
  };
  add("nodes", plan.nodes);
  add("gpus", plan.gpus);
  add("jobs", plan.jobs);
  add("chaos_s", plan.chaos.seconds());
  add("loss", plan.loss);
  add("repeat", plan.repeat);
  add("reorder", plan.reorder);
  add("delay_ms", plan.delay_max.ms());
  add("sync_ms", plan.sync_max.ms());
  add("reply_loss", plan.reply_loss);
  add("kill_controller", plan.kill_controller);
  add("kill_worker", plan.kill_worker);
  add("kill_launcher", plan.kill_launcher);
  add("reboot_node", plan.reboot_node);
  add("cut_link", plan.cut_link);
  add("mute_link", plan.mute_link);
  add("kill_shepherd", plan.kill_shepherd);
  add("slow_disk", plan.slow_disk);
  add("nemesis_ms", plan.nemesis_every.ms());
  return text;
}

}  // namespace muster::sim
