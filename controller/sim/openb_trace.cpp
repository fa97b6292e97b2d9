// Reading the openb lists.
#include "controller/sim/openb_trace.h"

#include <algorithm>
#include <optional>

#include "base/types/resources.h"
#include "controller/sim/csv.h"

namespace muster {
namespace {

constexpr std::uint64_t kCpuMilliMax = 100'000'000;
constexpr std::uint64_t kMemoryMibMax = std::uint64_t{1} << 32U;
constexpr std::uint64_t kGpusMax = 64;
constexpr std::size_t kNodesMax = 100'000;

// Fields of one row by the names of their columns; the first error is kept.
class Row {
 public:
  Row(const Csv& csv, const CsvRow& row) : csv_(csv), row_(row) {}

  std::uint64_t number(const char* name, std::uint64_t most) {
    const std::optional<std::size_t> column = column_of(name);
    if (!column) return 0;
    const Result<std::uint64_t> value = number_in(csv_, row_, *column, most);
    if (value) return *value;
    if (!error_) error_ = value.error();
    return 0;
  }
  std::string text(const char* name) {
    const std::optional<std::size_t> column = column_of(name);
    return column ? row_.fields[*column] : "";
  }
  bool has(const char* name) const { return find_column(csv_, name).ok(); }
  void refuse(const std::string& why) {
    if (!error_) error_ = trace_error(csv_.path, row_.line, why);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::optional<std::size_t> column_of(const char* name) {
    const Result<std::size_t> found = find_column(csv_, name);
    if (found) return *found;
    if (!error_) error_ = found.error();
    return std::nullopt;
  }

  const Csv& csv_;
  const CsvRow& row_;
  std::optional<Error> error_;
};

OpenbNode node_of(Row& row) {
  OpenbNode node;
  node.cpu_milli = static_cast<std::uint32_t>(row.number("cpu_milli", kCpuMilliMax));
  node.memory_mib = row.number("memory_mib", kMemoryMibMax);
  node.gpus = static_cast<std::uint32_t>(row.number("gpu", kGpusMax));
  node.model = row.text("model");
  if (node.gpus != 0 && node.model.empty()) row.refuse("GPUs without a model");
  return node;
}

std::vector<std::string> models_of(const std::string& text) {
  std::vector<std::string> models;
  std::size_t from = 0;
  while (!text.empty() && from <= text.size()) {
    const std::size_t bar = std::min(text.find('|', from), text.size());
    if (bar != from) models.push_back(text.substr(from, bar - from));
    from = bar + 1;
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

OpenbPod pod_of(Row& row) {
  OpenbPod pod;
  pod.cpu_milli = static_cast<std::uint32_t>(row.number("cpu_milli", kCpuMilliMax));
  pod.memory_mib = row.number("memory_mib", kMemoryMibMax);
  pod.gpus = static_cast<std::uint32_t>(row.number("num_gpu", kGpusMax));
  const std::uint64_t milli = row.number("gpu_milli", kMilliPerGpu);
  if (row.has("gpu_spec")) pod.models = models_of(row.text("gpu_spec"));
  if (pod.gpus == 1) pod.gpu_milli = static_cast<std::uint32_t>(milli);
  if (pod.gpus > 1) pod.gpu_milli = kMilliPerGpu;
  if (pod.gpus == 0) pod.models.clear();
  if (pod.gpus == 1 && milli == 0) row.refuse("a GPU of which nothing is asked");
  return pod;
}

std::string workload_of(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  const std::string prefix = "openb_pod_list_";
  if (name.rfind(prefix, 0) == 0) name.erase(0, prefix.size());
  return name.substr(0, name.rfind('.'));
}

}  // namespace

std::uint64_t OpenbTrace::capacity_milli() const {
  std::uint64_t milli = 0;
  for (const OpenbNode& node : nodes) milli += std::uint64_t{node.gpus} * kMilliPerGpu;
  return milli;
}

Result<OpenbTrace> read_openb(const std::string& nodes_path, const std::string& pods_path) {
  OpenbTrace trace;
  trace.workload = workload_of(pods_path);
  const Result<Csv> nodes = read_csv(nodes_path);
  if (!nodes) return nodes.error();
  if (nodes->rows.size() > kNodesMax)
    return trace_error(nodes_path, nodes->rows[kNodesMax].line, "more than 100000 nodes");
  for (const CsvRow& fields : nodes->rows) {
    Row row(*nodes, fields);
    trace.nodes.push_back(node_of(row));
    if (row.error()) return *row.error();
  }
  const Result<Csv> pods = read_csv(pods_path);
  if (!pods) return pods.error();
  for (const CsvRow& fields : pods->rows) {
    Row row(*pods, fields);
    trace.pods.push_back(pod_of(row));
    if (row.error()) return *row.error();
  }
  if (trace.capacity_milli() == 0) return trace_error(nodes_path, 1, "no node has a GPU");
  const bool any = std::any_of(trace.pods.begin(), trace.pods.end(),
                               [](const OpenbPod& pod) { return pod.milli() != 0; });
  if (!any) return trace_error(pods_path, 1, "no pod asks for a GPU");
  return trace;
}

}  // namespace muster
