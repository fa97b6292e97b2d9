// Muster's own books and search under the experiment.
#include <algorithm>
#include <map>
#include <set>

#include "controller/core/cluster.h"
#include "controller/core/decide/board.h"
#include "controller/core/decide/place.h"
#include "controller/sim/packer.h"

namespace muster {
namespace {

const char* const kQueue = "openb";

Inventory inventory_of(const OpenbNode& node, std::size_t index) {
  Inventory inventory;
  inventory.cpus = node.cpu_milli;
  inventory.memory_mib = node.memory_mib;
  for (std::uint32_t i = 0; i < node.gpus; ++i) {
    GpuFacts gpu;
    gpu.uuid = "GPU-" + std::to_string(index) + "-" + std::to_string(i);
    gpu.index = i;
    gpu.type = node.model;
    inventory.gpus.push_back(gpu);
  }
  return inventory;
}

std::shared_ptr<const JobTerms> terms_of_pod(const OpenbPod& pod) {
  Group group;
  group.cpus_per_node = pod.cpu_milli;
  group.memory_mib_per_node = std::max<std::uint64_t>(pod.memory_mib, 1);  // 0 would be a share.
  group.gpus_per_node = pod.gpus;
  if (pod.gpus != 0) group.gpu_milli = pod.gpu_milli;
  group.gpu_types = pod.models;
  group.gpu_types_alike = !pod.models.empty();
  auto terms = std::make_shared<JobTerms>();
  terms->queue = kQueue;
  terms->groups = {group};
  return terms;
}

class MusterPacker : public Packer {
 public:
  explicit MusterPacker(const OpenbTrace& trace) {
    ClusterConfig config;
    config.queues.push_back({});
    config.queues.back().name = kQueue;
    apply(ConfigApplied{config, "gpusim"});
    DeviceId device{1};
    for (std::size_t i = 0; i < trace.nodes.size(); ++i) {
      const NodeId id{static_cast<std::uint32_t>(i + 1)};
      apply(NodeEnrolled{id, "n" + std::to_string(i + 1), "", "gpusim"});
      NodeReported report;
      report.node = id;
      report.boot_id = "boot";
      report.inventory = inventory_of(trace.nodes[i], i);
      for (std::uint32_t gpu = 0; gpu < trace.nodes[i].gpus; ++gpu)
        report.device_ids.push_back(DeviceId{device.value++});
      apply(report);
      board_.ledger.set_connected(id, true);
    }
    std::map<OpenbPod, std::shared_ptr<const JobTerms>> known;
    for (const OpenbPod& pod : trace.pods) {
      auto& terms = known[pod];
      if (terms == nullptr) terms = terms_of_pod(pod);
      terms_.push_back(terms);
    }
  }

  bool place(std::size_t pod) override {
    const std::shared_ptr<const JobTerms>& terms = terms_[pod];
    board_.ledger.note_arrival(JobId{++arrived_}, terms);
    const std::set<NodeId> avoided;
    const std::optional<Place> found =
        find_place(board_.present(cluster_, Instant{}), PlaceRequest{*terms, avoided});
    if (found) board_.ledger.take(*found);
    return found.has_value();
  }

 private:
  void apply(const Event& event) {
    board_.before(cluster_, event);
    cluster_.apply(event, Stamp{Seq{++seq_}, Instant{}, WallTime{}});
    board_.after(cluster_, event);
  }

  Cluster cluster_;
  Board board_;
  std::vector<std::shared_ptr<const JobTerms>> terms_;  // By pod.
  std::uint64_t seq_ = 0;
  std::uint64_t arrived_ = 0;
};

}  // namespace

std::unique_ptr<Packer> make_muster_packer(const OpenbTrace& trace) {
  return std::make_unique<MusterPacker>(trace);
}

}  // namespace muster
