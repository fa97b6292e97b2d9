// Jobs on the screen.
#pragma once

#include <span>
#include <string>

#include "base/message/request.h"
#include "submit/cli/table.h"
#include "submit/cli/terminal.h"

namespace muster {

// A table of jobs that grows row by row. now is for how long they have run.
class JobsTable {
 public:
  explicit JobsTable(WallTime now);
  void add(std::span<const JobRow> rows);
  std::string render(const Terminal& terminal) const { return table_.render(terminal); }

 private:
  Table table_;
  WallTime now_;
};
// One line a row.
std::string jobs_table(std::span<const JobRow> rows, const Terminal& terminal, WallTime now);
// "17  train  running  n[1-2]", for a stream of changes.
std::string change_text(const JobRow& row);
// Everything there is to know, "Name: value" a line.
std::string job_in_full(const JobReply& job, const Terminal& terminal, WallTime now);
// The sentence and the figures behind it.
// "about 2026-11-30 14:10, by 2026-11-30 17:00 in 9 of 10 cases"
std::string start_text(WallTime half, WallTime most);
std::string why_text(const WhyReply& why, const Terminal& terminal);

// What the turns of jobs are made of: the points for each factor, and their sum.
std::string turns_table(const TurnsReply& turns, const Terminal& terminal);

// "2 nodes, each: 4 tasks, 4 CPUs, 4 GPUs", a line for each group.
std::string groups_text(const JobSpec& spec);

// "exited with 3 (rank 5 on n2): …".
std::string cause_text(const Cause& cause);

}  // namespace muster
