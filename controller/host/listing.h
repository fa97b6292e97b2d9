// Lines of lists, made from the view when somebody asks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/message/request.h"
#include "controller/host/view.h"

namespace muster {

// Which of an array's elements that ended after an attempt are wanted: a large one has very many.
struct EndedRows {
  bool all = true;
  std::vector<Element> only;  // In order; these, when not all.
};
// All rows of a job: one for a plain job; for an array one per element that has had an attempt and
// one per range of untouched elements in one state.
std::vector<JobRow> job_rows(const JobView& job, const ViewState& state,
                             const EndedRows& ended = {});
// The row of one element; false when the job has none such.
bool element_row(const JobView& job, Element element, const ViewState& state, JobRow& out);
std::vector<MemberRow> member_rows(const JobView& job, Element element, const ViewState& state);
NodeRow node_row(const NodeView& node, const ViewState& state);
// Which of the nodes, in rank order, of an attempt that is over ran this rank; they held so many
// members of each group. Nothing when none did, or when several groups may have had any size.
std::optional<std::size_t> node_of_rank(const std::vector<Group>& groups, std::size_t nodes,
                                        std::uint32_t rank);
std::string node_list(const std::vector<NodeId>& nodes, const ViewState& state);

}  // namespace muster
