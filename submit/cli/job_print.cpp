// Tables and full descriptions of jobs.
#include "submit/cli/job_print.h"

#include <algorithm>

#include "base/types/hostlist.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/job_list.h"
#include "submit/cli/when.h"
#include "submit/script/array.h"

namespace muster {

namespace {

Colour colour_of(const JobRow& row) {
  switch (row.state) {
    case JobState::kRunning:
      return Colour::kGreen;
    case JobState::kStarting:
    case JobState::kStopping:
      return Colour::kYellow;
    case JobState::kEnded:
      return row.reason == "completed" ? Colour::kFaint : Colour::kRed;
    default:
      return Colour::kNone;
  }
}

bool has_started(const JobRow& row) {
  return row.started.us != 0 && row.state != JobState::kPending;
}

Duration run_time(const JobRow& row, WallTime now) {
  if (!has_started(row)) return {};
  const WallTime end = row.state == JobState::kEnded && row.ended.us != 0 ? row.ended : now;
  return {std::max<std::int64_t>(end.us - row.started.us, 0)};
}

std::string run_time_text(const JobRow& row, WallTime now) {
  return has_started(row) ? to_clock(run_time(row, now)) : "-";
}

// Where it is, or why it is not.
std::string where_text(const JobRow& row) {
  if (row.state == JobState::kRunning) return row.node_list;
  if (row.state == JobState::kStarting || row.state == JobState::kStopping) {
    return row.reason.empty() ? row.node_list : row.node_list + " (" + row.reason + ")";
  }
  if (row.state == JobState::kEnded && row.exit_status != 0) {
    return row.reason + " " + std::to_string(row.exit_status);
  }
  return row.reason;
}

std::string limit_text(Duration limit) { return limit.us == 0 ? "-" : to_clock(limit); }

// "Name:     value" lines.
class Lines {
 public:
  void add(std::string_view name, const std::string& value) {
    if (value.empty()) return;
    const std::size_t pad = name.size() < kNameWidth ? kNameWidth - name.size() : 1;
    text_ += std::string(name) + ":" + std::string(pad, ' ') + escape_for_terminal(value) + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kNameWidth = 14;
  std::string text_;
};

std::string group_text(const Group& group) {
  std::string text = std::to_string(group.nodes_min);
  if (group.nodes_max != group.nodes_min) text += "-" + std::to_string(group.nodes_max);
  text += group.nodes_min == 1 && group.nodes_max == 1 ? " node: " : " nodes, each: ";
  text +=
      std::to_string(group.tasks_per_node) + (group.tasks_per_node == 1 ? " task, " : " tasks, ");
  text += std::to_string(group.cpus_per_node) + (group.cpus_per_node == 1 ? " CPU" : " CPUs");
  if (group.gpus_per_node != 0) {
    text +=
        ", " + std::to_string(group.gpus_per_node) + (group.gpus_per_node == 1 ? " GPU" : " GPUs");
    if (group.gpu_milli != kMilliPerGpu)
      text += " (" + std::to_string(group.gpu_milli) + "/1000 of it)";
    for (std::size_t i = 0; i < group.gpu_types.size(); ++i)
      text += (i == 0 ? " of type " : " or ") + group.gpu_types[i];
    if (group.gpu_memory_mib_min != 0)
      text += " with " + memory_to_text(group.gpu_memory_mib_min) + " or more";
  }
  if (group.memory_mib_per_node != 0)
    text += ", " + memory_to_text(group.memory_mib_per_node) + " of memory";
  if (group.memory_all) text += ", all of the memory";
  for (const std::string& feature : group.features) text += ", " + feature;
  if (!group.wish.empty()) text += ", " + to_text(group.wish);
  if (group.one_clique) text += ", of one NVLink clique";
  if (group.gpus_per_socket != 0)
    text += ", " + std::to_string(group.gpus_per_socket) + " GPUs on each socket";
  if (group.exclusive) text += ", shared with nobody";
  if (!group.nodes_only.empty()) text += ", of " + compress_hostlist(group.nodes_only);
  if (!group.nodes_excluded.empty()) text += ", not on " + compress_hostlist(group.nodes_excluded);
  return text;
}

std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-./=:,%+@") == std::string::npos;
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

void add_launch(const LaunchSpec& launch, bool is_array, Lines& lines) {
  if (launch.cwd.empty()) return;  // Somebody else's job.
  const std::string arguments = quoted_words(launch.argv);
  lines.add("Command", launch.is_command
                           ? arguments
                           : launch.script_name + (arguments.empty() ? "" : " " + arguments));
  lines.add("Launch", std::string(name_of(launch.mode)));
  lines.add("Directory", launch.cwd);
  const char* usual = is_array ? "muster-%A_%a.out" : "muster-%j.out";
  lines.add("Output", launch.output.empty() ? usual : launch.output);
  lines.add("Error", launch.error);
}

void add_times(const JobRow& row, WallTime now, Lines& lines) {
  lines.add("Submitted", local_time_with_seconds(row.submitted));
  if (row.started.us != 0) lines.add("Started", local_time_with_seconds(row.started));
  if (row.ended.us != 0) lines.add("Ended", local_time_with_seconds(row.ended));
  if (has_started(row)) lines.add("Run time", to_clock(run_time(row, now)));
  lines.add("Time limit", row.time_limit.us == 0 ? "" : to_clock(row.time_limit));
}

std::string gpu_list(const std::vector<std::uint32_t>& indices) {
  std::string text;
  for (const std::uint32_t index : indices)
    text += (text.empty() ? "" : ",") + std::to_string(index);
  return text.empty() ? "-" : text;
}

std::string members_table(const std::vector<MemberRow>& members, const Terminal& terminal) {
  Table table({{"NODE"},
               {"RANKS"},
               {"GPUS"},
               {"CPUS", Align::kRight},
               {"MEMORY", Align::kRight},
               {"STATE"},
               {"ENDED", Align::kLeft, 20}});
  for (const MemberRow& member : members) {
    std::string ranks = std::to_string(member.rank_first);
    if (member.tasks > 1) ranks += "-" + std::to_string(member.rank_first + member.tasks - 1);
    table.add({member.node, ranks, gpu_list(member.gpu_indices), std::to_string(member.cpus),
               member.memory_mib == 0 ? "-" : memory_to_text(member.memory_mib), member.phase,
               member.record ? cause_text(member.record->cause) : "-"});
  }
  return table.render(terminal);
}

}  // namespace

std::string cause_text(const Cause& cause) {
  const bool by_signal = cause.kind == CauseKind::kSignalled;
  std::string text(by_signal ? "ended by signal " + std::to_string(cause.signal)
                             : std::string(name_of(cause.kind)));
  if (cause.kind == CauseKind::kExited) text += " with status " + std::to_string(cause.exit_status);
  if (!cause.by.empty()) text += " by " + cause.by;
  std::string place;
  if (cause.rank >= 0) place = "rank " + std::to_string(cause.rank);
  if (!cause.node.empty()) place += (place.empty() ? "on " : " on ") + cause.node;
  if (!place.empty()) text += " (" + place + ")";
  if (!cause.evidence.empty()) text += ": " + cause.evidence;
  return text;
}

std::string groups_text(const JobSpec& spec) {
  std::string text;
  for (const Group& group : spec.groups) text += "  " + group_text(group) + "\n";
  return text;
}

JobsTable::JobsTable(WallTime now)
    : table_({{"JOB"},
              {"NAME", Align::kLeft, 8},
              {"USER", Align::kLeft, 4, 2},
              {"QUEUE", Align::kLeft, 5, 5},
              {"STATE"},
              {"TIME", Align::kRight},
              {"LIMIT", Align::kRight, 0, 4},
              {"NODES", Align::kRight, 0, 3},
              {"GPUS", Align::kRight, 0, 1},
              {"WHERE/WHY", Align::kLeft, 16}}),
      now_(now) {}

void JobsTable::add(std::span<const JobRow> rows) {
  for (const JobRow& row : rows) {
    table_.add_row(job_text(row), row.name, row.user, row.queue,
                   Cell(std::string(name_of(row.state)), colour_of(row)), run_time_text(row, now_),
                   limit_text(row.time_limit), std::to_string(row.nodes), std::to_string(row.gpus),
                   where_text(row));
  }
}

std::string jobs_table(std::span<const JobRow> rows, const Terminal& terminal, WallTime now) {
  JobsTable table(now);
  table.add(rows);
  return table.render(terminal);
}

std::string change_text(const JobRow& row) {
  std::string text = job_text(row) + "  " + row.name + "  " + std::string(name_of(row.state));
  const std::string where = where_text(row);
  if (!where.empty()) text += "  " + where;
  return escape_for_terminal(text);
}

std::string job_in_full(const JobReply& job, const Terminal& terminal, WallTime now) {
  const JobRow& row = job.row;
  Lines lines;
  lines.add("Job", job_text(row));
  lines.add("Name", row.name);
  lines.add("User", row.user + " (uid " + std::to_string(row.uid.value) + ")");
  lines.add("Queue", row.queue);
  lines.add("Account", row.account);
  lines.add("QOS", job.spec.qos);
  lines.add("Reservation", job.spec.reservation);
  lines.add("Priority", std::to_string(row.priority));
  if (job.spec.nice != 0) lines.add("Nice", std::to_string(job.spec.nice));
  lines.add("State",
            std::string(name_of(row.state)) + (row.reason.empty() ? "" : " (" + row.reason + ")"));
  lines.add("Why", job.why);
  if (row.start_p50.us != 0) lines.add("Starts", start_text(row.start_p50, row.start_p90));
  if (job.cause) lines.add("Ending", cause_text(*job.cause));
  for (const Group& group : job.spec.groups) lines.add("Asks for", group_text(group));
  const TopologyWish& topology = job.spec.topology;
  if (topology.kind != TopologyKind::kAny) {
    lines.add("Topology", std::string(name_of(topology.kind)) +
                              (topology.count == 0 ? "" : "=" + std::to_string(topology.count)) +
                              (topology.name.empty() ? "" : ":" + topology.name) +
                              (topology.required ? " (required)" : " (where possible)"));
  }
  std::string licences;
  for (const LicenceCount& licence : job.spec.licences)
    licences +=
        (licences.empty() ? "" : ", ") + std::to_string(licence.count) + " of " + licence.name;
  lines.add("Licences", licences);
  if (!job.spec.array.ranges.empty()) lines.add("Array", to_text(job.spec.array));
  if (job.spec.depends) lines.add("Depends on", to_text(*job.spec.depends));
  if (job.spec.begin.us != 0) lines.add("Begins after", local_time_with_seconds(job.spec.begin));
  if (job.spec.deadline.us != 0) lines.add("Deadline", local_time_with_seconds(job.spec.deadline));
  if (row.attempt.value != 0) lines.add("Attempt", std::to_string(row.attempt.value));
  lines.add("Nodes", row.node_list);
  add_times(row, now, lines);
  add_launch(job.launch, row.is_array, lines);
  std::string text = lines.take();
  if (!job.members.empty()) text += "\n" + members_table(job.members, terminal);
  return text;
}

std::string start_text(WallTime half, WallTime most) {
  std::string text = "about " + local_time(half);
  if (most.us > half.us + minutes(1).us) text += ", by " + local_time(most) + " in 9 of 10 cases";
  return text;
}

std::string why_text(const WhyReply& why, const Terminal& terminal) {
  std::string text =
      "Job " + std::to_string(why.job.value) + ": " + escape_for_terminal(why.sentence) + "\n";
  Lines lines;
  lines.add("Reason", why.reason);
  if (why.nodes_total != 0) {
    lines.add("Nodes", std::to_string(why.nodes_needed) + " needed, " +
                           std::to_string(why.nodes_fit) + " of " +
                           std::to_string(why.nodes_total) + " in the queue fit now");
  }
  if (why.jobs_ahead != 0) lines.add("Jobs ahead", std::to_string(why.jobs_ahead));
  if (!why.frees_last.empty()) lines.add("Waits for", "attempt " + why.frees_last + " to end");
  if (why.start_latest.us != 0) {
    lines.add("Starts by", local_time(why.start_latest) + ", if others run to their time limits");
  }
  if (why.start_p50.us != 0) lines.add("Starts", start_text(why.start_p50, why.start_p90));
  text += lines.take();
  if (why.blockers.empty()) return text;
  Table table({{"NODES", Align::kRight}, {"HAVE NOT", Align::kLeft, 20}});
  for (const WhyBlocker& blocker : why.blockers) {
    table.add({std::to_string(blocker.nodes_failing), blocker.constraint});
  }
  return text + "\n" + table.render(terminal);
}

}  // namespace muster
