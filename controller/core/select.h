// Which jobs a verb means, and whether the requester may touch them. Internal to the core.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "controller/core/step.h"

namespace muster {

struct Target {
  JobId job;
  std::optional<Element> element;  // Empty: all of them.
};

// "17" or "17_3".
std::string name_of_target(const Job& job, const Target& target);

// What the elements meant are, by state: ranges of the target that are in `state`.
std::vector<IndexRange> ranges_of_target(const Job& job, const Target& target, ElementState state);

// Runs act on every job the selection means. A job that cannot be acted on becomes the error when
// no other could, and a note otherwise. The ids of the jobs acted on go into the reply.
void for_each_target(Step& step, const Requester& who, const JobSelection& which,
                     std::string_view verb,
                     const std::function<Result<void>(const Job&, const Target&)>& act);

}  // namespace muster
