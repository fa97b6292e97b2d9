// A cluster and its board without an engine: nodes, jobs, starts and ends by events alone.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/core/decide/board.h"
#include "controller/core/decide/place.h"

namespace muster {

struct Machine {
  std::uint32_t cpus = 64;
  std::uint64_t memory_mib = 256 * 1024;
  std::vector<std::string> gpus;
};

class Site {
 public:
  explicit Site(const std::vector<Machine>& machines) {
    ClusterConfig config;
    config.queues.push_back({});
    config.queues.back().name = "q";
    apply(ConfigApplied{config, "test"});
    std::uint32_t device = 0;
    for (const Machine& machine : machines) {
      const NodeId id{++nodes_};
      apply(NodeEnrolled{id, "n" + std::to_string(nodes_), "", "test"});
      NodeReported report;
      report.node = id;
      report.boot_id = "boot";
      report.inventory.cpus = machine.cpus;
      report.inventory.memory_mib = machine.memory_mib;
      for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
        GpuFacts gpu;
        gpu.uuid = "GPU-" + std::to_string(device);
        gpu.index = i;
        gpu.type = machine.gpus[i];
        gpu.memory_mib = 80000;
        report.inventory.gpus.push_back(gpu);
        report.device_ids.push_back(DeviceId{++device});
      }
      apply(report);
      board.ledger.set_connected(id, true);
    }
  }

  JobId submit(const Group& group) {
    JobSubmitted event;
    event.job = cluster.job_next();
    event.request.uuid.bytes[0] = static_cast<std::uint8_t>(event.job.value);
    event.request.uuid.bytes[1] = static_cast<std::uint8_t>(event.job.value >> 8U);
    event.user = "u";
    event.spec.queue = "q";
    event.spec.groups = {group};
    event.spec.time_limit = hours(1);
    apply(event);
    return event.job;
  }
  std::optional<Place> find(const Group& group) { return find_in(board, group); }
  std::optional<Place> find_in(const Board& other, const Group& group) {
    JobTerms terms;
    terms.queue = "q";
    terms.groups = {group};
    const std::set<NodeId> avoided;
    return find_place(other.present(cluster, Instant{}), {terms, avoided});
  }
  bool start(JobId job) {
    const std::optional<Place> place = find(cluster.find_job(job)->facts().groups().front());
    if (!place) return false;
    apply(AttemptStarted{{job, Element{0}, AttemptNo{1}}, *place});
    return true;
  }
  void end(AttemptKey key) {
    AttemptStopping stopping;
    stopping.key = key;
    apply(stopping);
    for (const Member& member : cluster.find_attempt(key)->place->members) {
      MemberEnded ended;
      ended.key = key;
      ended.node = member.node;
      ended.record.cause.kind = CauseKind::kCompleted;
      apply(ended);
    }
    AttemptEnded event;
    event.key = key;
    apply(event);
  }
  Board rebuilt() const {
    Board other;
    other.rebuild(cluster);
    for (std::uint32_t i = 1; i <= nodes_; ++i) other.ledger.set_connected(NodeId{i}, true);
    return other;
  }

  Cluster cluster;
  Board board;

 private:
  void apply(const Event& event) {
    board.before(cluster, event);
    cluster.apply(event, Stamp{Seq{++seq_}, Instant{}, WallTime{}});
    board.after(cluster, event);
  }
  std::uint32_t nodes_ = 0;
  std::uint64_t seq_ = 0;
};

inline Group ask(std::uint32_t gpus, std::uint32_t milli = kMilliPerGpu) {
  Group group;
  group.gpus_per_node = gpus;
  group.gpu_milli = milli;
  group.cpus_per_node = 2;
  group.memory_mib_per_node = 4096;
  return group;
}

}  // namespace muster
