// What people do while things break.
#include "tests/sim/cluster/clients.h"

#include <memory>

#include "tests/sim/cluster/controller.h"

namespace muster::sim {
namespace {

constexpr Duration kRetryAfter = seconds(3);

Requester kim() { return {Uid{1000}, Gid{1000}, "kim", Role::kUser, "login1"}; }
Requester root() { return {Uid{0}, Gid{0}, "root", Role::kAdmin, "login1"}; }

JobSelection just(JobId job) {
  JobSelection which;
  which.elements = {{job, Element{0}}};
  which.element_given = {false};
  return which;
}

NewJob job_of(std::uint32_t nodes, std::uint32_t gpus) {
  NewJob job;
  job.spec.name = "sim";
  Group group;
  group.nodes_min = group.nodes_max = nodes;
  group.gpus_per_node = gpus;
  group.cpus_per_node = 1;
  group.memory_mib_per_node = 1000;
  job.spec.groups = {group};
  return job;
}

}  // namespace

RequestId Clients::next_request() {
  RequestId id{Uid{1000}, {}};
  ++requests_;
  for (unsigned i = 0; i < 8; ++i)
    id.uuid.bytes[i] = static_cast<std::uint8_t>(requests_ >> (8U * i));
  return id;
}

void Clients::begin() {
  for (std::uint32_t i = 0; i < world_.plan.jobs; ++i) {
    world_.agenda.after(world_.up_to(world_.plan.chaos), [this] { submit(); });
    if (world_.rng.chance(400))
      world_.agenda.after(world_.up_to(world_.plan.chaos), [this] { wish(); });
  }
}

void Clients::ask(Command command, std::function<void(const Reply&, Seq)> done) {
  ++waiting_;
  attempt(std::make_shared<Asked>(Asked{std::move(command), std::move(done)}));
}

void Clients::attempt(std::shared_ptr<Asked> asked) {
  if (asked->over) return;
  ++asked->tries;
  const bool is_lost = !world_.healed && world_.rng.chance(world_.plan.reply_loss);
  const bool is_answer_lost = !world_.healed && world_.rng.chance(world_.plan.reply_loss);
  if (!is_lost) {
    world_.controller->ask(asked->command,
                           [this, asked, is_answer_lost](const Reply& reply, Seq seq) {
                             if (is_answer_lost || asked->over) return;
                             asked->over = true;
                             --waiting_;
                             asked->done(reply, seq);
                           });
  }
  world_.agenda.after(kRetryAfter, [this, asked] { attempt(asked); });
}

void Clients::submit() {
  NewJob job = job_of(static_cast<std::uint32_t>(world_.rng.between(1, world_.plan.nodes)),
                      static_cast<std::uint32_t>(world_.rng.below(world_.plan.gpus + 1)));
  job.spec.hold = world_.rng.chance(100);
  job.spec.requeue = world_.rng.chance(800);
  if (world_.rng.chance(150)) {
    job.spec.array.ranges = {{1, static_cast<std::uint32_t>(world_.rng.between(2, 5)), 1}};
    job.spec.groups[0].nodes_min = job.spec.groups[0].nodes_max = 1;
  }
  const SubmitJobs command{kim(), next_request(), {job}, false};
  const auto again = [this, command] {
    ask(command, [this, request = command.request](const Reply& reply, Seq) {
      if (!reply.error) world_.checker.submitted(request, reply.jobs);
    });
  };
  ask(command, [this, request = command.request, again](const Reply& reply, Seq) {
    if (reply.error) return world_.note("submit refused: " + reply.error->message);
    world_.checker.submitted(request, reply.jobs);
    known_.insert(known_.end(), reply.jobs.begin(), reply.jobs.end());
    if (world_.rng.chance(100)) again();
  });
}

void Clients::wish() {
  if (known_.empty()) return;
  const JobId job = known_[world_.rng.below(known_.size())];
  const std::uint64_t what = world_.rng.below(5);
  world_.note("wish " + std::to_string(what) + " for job " + std::to_string(job.value));
  switch (what) {
    case 0:
      return ask(HoldJobs{kim(), just(job)}, [](const Reply&, Seq) {});
    case 1:
      return ask(ReleaseJobs{kim(), just(job)}, [](const Reply&, Seq) {});
    case 2:
      world_.checker.wanted_again(job);
      return ask(RequeueJobs{kim(), just(job)}, [](const Reply&, Seq) {});
    default:
      ask(CancelJobs{kim(), just(job), 0}, [this, job](const Reply& reply, Seq seq) {
        if (reply.error) return;
        world_.note("cancel of job " + std::to_string(job.value) + " acknowledged");
        world_.checker.cancelled(job, seq);
      });
  }
}

void Clients::clear_away() {
  std::vector<JobId> held;
  if (world_.controller->is_up()) {
    for (const auto& [id, job] : world_.controller->engine().cluster().jobs()) {
      if (job.count(ElementState::kHeld) != 0) held.push_back(id);
    }
  }
  for (const JobId job : held) ask(CancelJobs{root(), just(job), 0}, [](const Reply&, Seq) {});
  world_.agenda.after(seconds(5), [this] { clear_away(); });
}

void Clients::submit_widest(std::function<void(JobId)> acknowledged) {
  const SubmitJobs command{
      kim(), next_request(), {job_of(world_.plan.nodes, world_.plan.gpus)}, false};
  ask(command, [this, acknowledged = std::move(acknowledged), request = command.request](
                   const Reply& reply, Seq) {
    if (reply.error) {  // Not all nodes may have said hello yet.
      world_.note("fresh job refused: " + reply.error->message);
      return world_.agenda.after(seconds(1), [this, acknowledged] { submit_widest(acknowledged); });
    }
    world_.checker.submitted(request, reply.jobs);
    acknowledged(reply.jobs[0]);
  });
}

}  // namespace muster::sim
