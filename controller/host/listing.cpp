// View to rows.
#include "controller/host/listing.h"

#include "base/types/hostlist.h"

namespace muster {

namespace {

std::string node_name(NodeId id, const ViewState& state) {
  const NodeView* node = state.nodes.find(id.value);
  return node == nullptr ? "node-" + std::to_string(id.value) : node->node->name;
}

JobRow base_row(const JobView& view) {
  const JobFacts& facts = view.job.facts();
  JobRow row;
  row.job = facts.id;
  row.is_array = facts.is_array();
  row.name = facts.name;
  row.user = facts.user();
  row.uid = facts.uid();
  row.queue = facts.queue();
  row.account = facts.account();
  row.priority = facts.priority();
  row.time_limit = facts.time_limit();
  row.submitted = facts.submitted_wall;
  for (const Group& group : facts.groups()) {
    row.nodes += group.nodes_min;
    row.gpus += group.nodes_min * group.gpus_per_node;
    row.cpus += group.nodes_min * group.cpus_per_node;
  }
  return row;
}

void add_live(const AttemptView& attempt, const ViewState& state, JobRow& row) {
  row.attempt = attempt.key.attempt;
  row.started = attempt.launched_wall == WallTime{} ? attempt.started_wall : attempt.launched_wall;
  std::vector<NodeId> nodes;
  row.nodes = static_cast<std::uint32_t>(attempt.place->members.size());
  row.gpus = 0;
  row.cpus = 0;
  for (const Member& member : attempt.place->members) {
    nodes.push_back(member.node);
    row.gpus += static_cast<std::uint32_t>(member.grants.size());
    row.cpus += member.cpus;
  }
  row.node_list = node_list(nodes, state);
  switch (attempt.state) {
    case AttemptState::kPreparing:
      row.state = JobState::kStarting;
      break;
    case AttemptState::kRunning:
      row.state = JobState::kRunning;
      break;
    default:
      row.state = JobState::kStopping;
  }
}

void add_last(const AttemptSummary& last, const ViewState& state, JobRow& row) {
  row.attempt = last.attempt;
  row.started = last.launched_wall;
  row.node_list = node_list(last.nodes, state);
}

void add_ending(const Ending& ending, JobRow& row) {
  row.state = JobState::kEnded;
  row.reason = std::string(name_of(ending.cause.kind));
  row.ended = ending.wall;
  row.exit_status = ending.cause.exit_status;
}

void add_waiting(const JobView& job, ElementState element, JobRow& row) {
  row.state = element == ElementState::kHeld ? JobState::kHeld : JobState::kPending;
  if (element == ElementState::kHeld && job.job.is_held_by_operator()) {
    row.reason = "held-by-operator";
  }
  if (element == ElementState::kWaiting) row.reason = std::string(name_of(job.waits));
}

std::string ranges_text(const std::vector<IndexRange>& ranges) {
  std::string text;
  for (const IndexRange& range : ranges) {
    if (!text.empty()) text += ',';
    text += std::to_string(range.first);
    if (range.last != range.first) text += '-' + std::to_string(range.last);
    if (range.step != 1) text += ':' + std::to_string(range.step);
  }
  return text;
}

void fill_element(const JobView& job, Element element, const ViewState& state, JobRow& row) {
  row.element = element;
  const auto where = job.job.state_of(element);
  if (const AttemptView* live = live_attempt(job, element)) {
    add_live(*live, state, row);
    return;
  }
  if (const auto last = job.job.last_attempt(element)) add_last(*last, state, row);
  const ElementRecord* record = job.job.find_record(element);
  if (record != nullptr) row.reason = record->reason;
  if (const std::optional<Ending> ending = job.job.find_ending(element)) {
    add_ending(*ending, row);
  } else {
    add_waiting(job, where.value_or(ElementState::kPending), row);
  }
}

}  // namespace

std::string node_list(const std::vector<NodeId>& nodes, const ViewState& state) {
  std::vector<std::string> names;
  for (const NodeId id : nodes) names.push_back(node_name(id, state));
  return compress_hostlist(names);
}

bool element_row(const JobView& job, Element element, const ViewState& state, JobRow& out) {
  if (!job.job.state_of(element).has_value()) return false;
  out = base_row(job);
  fill_element(job, element, state, out);
  return true;
}

std::vector<JobRow> job_rows(const JobView& job, const ViewState& state, const EndedRows& ended) {
  std::vector<JobRow> rows;
  if (!job.job.is_array()) {
    rows.push_back(base_row(job));
    fill_element(job, Element{}, state, rows.back());
    return rows;
  }
  const auto add = [&](Element element) {
    rows.push_back(base_row(job));
    fill_element(job, element, state, rows.back());
    return true;
  };
  const ElementTable& touched = job.job.touched();
  touched.for_each({}, [&](Element element, const ElementRecord&) { return add(element); });
  if (ended.all) {
    touched.for_each_ended({}, [&](Element element, const EndedElement&) { return add(element); });
  } else {
    for (const Element element : ended.only) {
      if (touched.find_ended(element) != nullptr) add(element);
    }
  }
  const ArraySpec& array = job.job.facts().terms->array;
  for (const ElementSpan& span : job.job.spans()) {
    rows.push_back(base_row(job));
    JobRow& row = rows.back();
    row.element = element_at(array, span.first);
    row.elements = ranges_text(ranges_of(array, span.first, span.last));
    if (span.ending != nullptr) {
      add_ending(*span.ending, row);
    } else {
      add_waiting(job, span.state, row);
    }
  }
  return rows;
}

std::optional<std::size_t> node_of_rank(const std::vector<Group>& groups, std::size_t nodes,
                                        std::uint32_t rank) {
  std::size_t nodes_min = 0;
  std::size_t elastic = 0;
  for (const Group& group : groups) {
    nodes_min += group.nodes_min;
    elastic += group.nodes_max > group.nodes_min ? 1U : 0U;
  }
  if (nodes < nodes_min || elastic > 1) return std::nullopt;
  std::size_t node = 0;
  for (const Group& group : groups) {
    const std::size_t more = group.nodes_max > group.nodes_min ? nodes - nodes_min : 0;
    const std::size_t count = group.nodes_min + more;
    const std::uint64_t tasks = std::uint64_t{group.tasks_per_node} * count;
    if (rank < tasks) return node + rank / group.tasks_per_node;
    rank -= static_cast<std::uint32_t>(tasks);
    node += count;
  }
  return std::nullopt;
}

std::vector<MemberRow> member_rows(const JobView& job, Element element, const ViewState& state) {
  std::vector<MemberRow> rows;
  const AttemptView* live = live_attempt(job, element);
  if (live == nullptr) return rows;
  for (std::size_t i = 0; i < live->place->members.size(); ++i) {
    const Member& member = live->place->members[i];
    MemberRow row;
    row.node = node_name(member.node, state);
    row.rank_first = member.rank_first;
    row.tasks = member.tasks;
    row.cpus = member.cpus;
    row.memory_mib = member.memory_mib;
    const NodeView* node = state.nodes.find(member.node.value);
    for (const Grant& grant : member.grants) {
      if (node == nullptr) break;
      const auto& ids = node->node->device_ids;
      for (std::size_t d = 0; d < ids.size(); ++d) {
        if (ids[d] == grant.device) row.gpu_indices.push_back(node->node->inventory.gpus[d].index);
      }
    }
    if (i < live->phases.size()) row.phase = std::string(name_of(live->phases[i]));
    for (const auto& [id, record] : live->ended) {
      if (id == member.node) row.record = record;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

std::string holder_text(const ElementKey& key, const ViewState& state) {
  const JobView* job = state.jobs.find(key.job.value);
  if (job == nullptr) return to_text(key, key.element.value != 0);
  return to_text(key, job->job.is_array()) + " (" + job->job.facts().user() + ")";
}

}  // namespace

NodeRow node_row(const NodeView& view, const ViewState& state) {
  const Node& node = *view.node;
  NodeRow row;
  row.name = node.name;
  row.state = node.has_reported() ? std::string(name_of(node.state)) : "unreported";
  row.reason = node.reason;
  if (node.drained) {
    row.drain_reason = node.drain.reason;
    row.drained_by = node.drain.by;
    row.drained_since = node.drain.since;
    row.drain_deadline = node.drain.deadline;
  }
  row.connected = view.connected;
  row.cpus = node.inventory.cpus;
  row.cpus_used = view.cpus_used;
  row.memory_mib = node.inventory.memory_mib;
  row.memory_mib_used = view.memory_mib_used;
  row.features = node.inventory.features;
  row.address = node.inventory.address;
  row.release = node.inventory.release;
  row.boot_id = node.boot_id;
  for (std::size_t i = 0; i < node.inventory.gpus.size(); ++i) {
    DeviceRow device;
    device.facts = node.inventory.gpus[i];
    const DeviceId id = i < node.device_ids.size() ? node.device_ids[i] : DeviceId{};
    const auto used = view.milli_used.find(id);
    if (used != view.milli_used.end()) device.milli_used = used->second;
    const auto holders = view.holders.find(id);
    if (holders != view.holders.end()) {
      for (const ElementKey& key : holders->second)
        device.holders.push_back(holder_text(key, state));
    }
    row.gpus.push_back(std::move(device));
  }
  return row;
}

}  // namespace muster
