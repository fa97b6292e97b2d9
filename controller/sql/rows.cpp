// One function per event that SQL keeps: its row, column by column as in
// sql/queries/feed_stage.sql.
#include "controller/sql/rows.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

namespace muster {
namespace {

enum class Table : std::uint8_t {
  kEpochs,
  kConfigs,
  kNodesEnrolled,
  kNodeReports,
  kDeviceReports,
  kNodeStates,
  kNodesRemoved,
  kSubmissions,
  kJobChanges,
  kElementEnds,
  kRequeues,
  kAttemptsStarted,
  kMembers,
  kGrants,
  kAttemptsLaunched,
  kMemberEnds,
  kAttemptsEnded,
};

struct TableShape {
  std::string_view name;
  std::size_t columns;
};
constexpr std::array<TableShape, 17> kShapes{{
    {"staged_epochs", 8},
    {"staged_configs", 9},
    {"staged_nodes_enrolled", 10},
    {"staged_node_reports", 14},
    {"staged_device_reports", 11},
    {"staged_node_states", 10},
    {"staged_nodes_removed", 8},
    {"staged_submissions", 27},
    {"staged_job_changes", 14},
    {"staged_element_ends", 18},
    {"staged_requeues", 11},
    {"staged_attempts_started", 10},
    {"staged_members", 9},
    {"staged_grants", 9},
    {"staged_attempts_launched", 10},
    {"staged_member_ends", 23},
    {"staged_attempts_ended", 19},
}};

// The last microsecond of the year 9999: what a node reports beyond is not a time.
constexpr std::int64_t kWallMax = 253402300799999999;

struct EventKey {
  const std::string& cluster;
  const Record& record;
  std::size_t ordinal;
};

// Appends one row to a sheet; the destructor asserts that it is whole.
class Row {
 public:
  enum class Begin : std::uint8_t { kKey, kKeyAndTimes };
  Row(SqlSheet& sheet, const EventKey& key, Begin begin) : sheet_(sheet) {
    sheet_.cells.emplace_back(key.cluster);
    add(key.record.seq.value).add(key.ordinal);
    if (begin == Begin::kKeyAndTimes) add_times(key.record);
  }
  ~Row() { MUSTER_ASSERT(sheet_.cells.size() % sheet_.columns == 0); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  template <class T>
  Row& add(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      sheet_.cells.emplace_back(value ? "t" : "f");
    else if constexpr (std::is_integral_v<T>)
      add_number(value);
    else
      sheet_.cells.emplace_back(storable_text(value));
    return *this;
  }
  Row& add_null() {
    sheet_.cells.emplace_back(std::nullopt);
    return *this;
  }
  template <class T>
  Row& add_optional(const std::optional<T>& value) {
    return value.has_value() ? add(*value) : add_null();
  }
  // A time that a peer claims; none when it is 0.
  Row& add_claimed(WallTime at) {
    return at.us == 0 ? add_null() : add(std::clamp<std::int64_t>(at.us, 0, kWallMax));
  }
  Row& add_times(const Record& record) {
    return add(record.epoch.value).add(record.at.us).add(record.wall.us);
  }
  Row& add_attempt(const AttemptKey& key) {
    return add(key.job.value).add(key.element.value).add(key.attempt.value);
  }
  Row& add_cause(const Cause& cause) {
    add(name_of(cause.kind)).add(cause.exit_status).add(cause.signal);
    return add(cause.by).add(cause.evidence).add(cause.node).add(cause.rank);
  }

 private:
  template <class T>
  void add_number(T value) {
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    sheet_.cells.emplace_back(std::string(text.data(), end));
  }
  SqlSheet& sheet_;
};

// What one element asks for in all, groups at their smallest.
struct Asked {
  std::uint64_t nodes = 0;
  std::uint64_t tasks = 0;
  std::uint64_t cpus = 0;
  std::uint64_t memory_mib = 0;
  std::uint64_t gpus = 0;
  std::uint64_t gpu_milli = 0;
  std::string gpu_types;
};

Asked sum_of(const std::vector<Group>& groups) {
  Asked sum;
  for (const Group& group : groups) {
    const std::uint64_t nodes = group.nodes_min;
    sum.nodes += nodes;
    sum.tasks += nodes * group.tasks_per_node;
    sum.cpus += nodes * group.cpus_per_node;
    sum.memory_mib += nodes * group.memory_mib_per_node;
    sum.gpus += nodes * group.gpus_per_node;
    sum.gpu_milli += nodes * group.gpus_per_node * group.gpu_milli;
    for (const std::string& type : group.gpu_types) {
      if (!sum.gpu_types.empty()) sum.gpu_types += ',';
      sum.gpu_types += type;
    }
  }
  return sum;
}

class RowWriter {
 public:
  RowWriter(std::span<SqlSheet> sheets, const EventKey& key) : sheets_(sheets), key_(key) {}

  void operator()(const EpochBegun& event) {
    fact(Table::kEpochs).add(event.boot_id).add(event.release);
  }
  void operator()(const ConfigApplied& event) {
    fact(Table::kConfigs).add(event.config.version).add(event.config.cluster).add(event.by);
  }
  void operator()(const NodeEnrolled& event) {
    fact(Table::kNodesEnrolled)
        .add(event.node.value)
        .add(event.name)
        .add(event.public_key)
        .add(event.by);
  }
  void operator()(const NodeReported& event);
  void operator()(const NodeStateChanged& event) {
    fact(Table::kNodeStates)
        .add(event.node.value)
        .add(name_of(event.state))
        .add(event.reason)
        .add(event.by);
  }
  void operator()(const NodeRemoved& event) {
    fact(Table::kNodesRemoved).add(event.node.value).add(event.by);
  }
  void operator()(const JobSubmitted& event);
  void operator()(const JobChanged& event);
  void operator()(const ElementsEnded& event);
  void operator()(const ElementRequeued& event) {
    Row row = fact(Table::kRequeues);
    row.add(event.job.value)
        .add(event.element.value)
        .add(event.not_before.us)
        .add(event.hold)
        .add(event.reason);
  }
  void operator()(const AttemptStarted& event);
  void operator()(const AttemptLaunched& event) {
    fact(Table::kAttemptsLaunched).add_attempt(event.key).add(event.master_address);
  }
  void operator()(const MemberEnded& event);
  void operator()(const AttemptEnded& event) {
    Row row = fact(Table::kAttemptsEnded);
    row.add_attempt(event.key).add_cause(event.cause);
    row.add(event.charged.us).add(event.gpu_milli_ms).add(event.cpu_ms);
  }
  // SQL keeps nothing of the other events.
  template <class Other>
  void operator()(const Other&) {}

 private:
  SqlSheet& sheet(Table table) { return sheets_[static_cast<std::size_t>(table)]; }
  Row fact(Table table) { return Row(sheet(table), key_, Row::Begin::kKeyAndTimes); }
  Row part_of_fact(Table table) { return Row(sheet(table), key_, Row::Begin::kKey); }

  std::span<SqlSheet> sheets_;
  const EventKey& key_;
};

void RowWriter::operator()(const NodeReported& event) {
  const Inventory& has = event.inventory;
  {
    Row row = fact(Table::kNodeReports);
    row.add(event.node.value)
        .add(event.boot_id)
        .add(has.cpus)
        .add(has.memory_mib)
        .add(has.gpus.size());
    row.add(has.address).add(has.release).add(has.kernel);
  }
  const std::size_t known = std::min(event.device_ids.size(), has.gpus.size());
  for (std::size_t i = 0; i < known; ++i) {
    const GpuFacts& gpu = has.gpus[i];
    Row row = part_of_fact(Table::kDeviceReports);
    row.add(event.device_ids[i].value)
        .add(event.node.value)
        .add(gpu.index)
        .add(gpu.uuid)
        .add(gpu.type);
    row.add(gpu.memory_mib).add(name_of(gpu.state)).add(gpu.state_reason);
  }
}

void RowWriter::operator()(const JobSubmitted& event) {
  const JobSpec& spec = event.spec;
  const Asked asked = sum_of(spec.groups);
  Row row = fact(Table::kSubmissions);
  row.add(event.job.value).add(event.uid.value).add(event.gid.value).add(event.user);
  row.add(spec.account).add(spec.queue).add(spec.name);
  row.add(to_text(event.request.uuid)).add(event.request_index).add(event.host);
  row.add(spec.time_limit.us).add(spec.priority).add(!spec.array.ranges.empty());
  row.add(asked.nodes).add(asked.tasks).add(asked.cpus).add(asked.memory_mib);
  row.add(asked.gpus).add(asked.gpu_milli).add(asked.gpu_types).add(spec.qos);
}

void RowWriter::operator()(const JobChanged& event) {
  Row row = fact(Table::kJobChanges);
  row.add(event.job.value);
  if (event.time_limit.has_value())
    row.add(event.time_limit->us);
  else
    row.add_null();
  row.add_optional(event.queue).add_optional(event.account).add_optional(event.priority);
  row.add_optional(event.name).add(event.by).add_optional(event.qos);
}

void RowWriter::operator()(const ElementsEnded& event) {
  for (std::size_t part = 0; part < event.elements.size(); ++part) {
    const IndexRange& range = event.elements[part];
    Row row = part_of_fact(Table::kElementEnds);
    row.add(part).add_times(key_.record).add(event.job.value);
    row.add(range.first).add(range.last).add(std::max(range.step, 1U)).add_cause(event.cause);
  }
}

void RowWriter::operator()(const AttemptStarted& event) {
  fact(Table::kAttemptsStarted).add_attempt(event.key).add(event.place.generation);
  for (std::size_t i = 0; i < event.place.members.size(); ++i) {
    const Member& member = event.place.members[i];
    part_of_fact(Table::kMembers)
        .add(i)
        .add(member.node.value)
        .add(member.rank_first)
        .add(member.tasks)
        .add(member.cpus)
        .add(member.memory_mib);
    for (const Grant& grant : member.grants) {
      part_of_fact(Table::kGrants)
          .add(i)
          .add(grant.device.value)
          .add(member.node.value)
          .add(grant.milli)
          .add(grant.memory_mib)
          .add(grant.profile);
    }
  }
}

void RowWriter::operator()(const MemberEnded& event) {
  const ExitRecord& record = event.record;
  Row row = fact(Table::kMemberEnds);
  row.add_attempt(event.key).add(event.node.value).add(record.launched).add_cause(record.cause);
  row.add(record.ran.us).add(record.cpu_us).add(record.memory_peak_mib);
  row.add_claimed(record.started_wall).add_claimed(record.ended_wall);
}

}  // namespace

FactRows::FactRows(std::string cluster) : cluster_(std::move(cluster)) {
  static_assert(kShapes.size() == std::tuple_size_v<decltype(sheets_)>);
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    sheets_[i].table = kShapes[i].name;
    sheets_[i].columns = kShapes[i].columns;
  }
}

void FactRows::add(const Record& record) {
  for (std::size_t ordinal = 0; ordinal < record.events.size(); ++ordinal) {
    std::visit(RowWriter(sheets_, EventKey{cluster_, record, ordinal}), record.events[ordinal]);
  }
}

}  // namespace muster
