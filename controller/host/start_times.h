// When rows of a list are likely to start, from the engine's last look ahead.
#pragma once

#include <vector>

#include "base/message/request.h"
#include "controller/core/decide/estimate.h"
#include "controller/host/view.h"

namespace muster {

// Fills start_p50 and start_p90 of pending rows: of an array, of its next element alone. Any
// thread.
void fill_starts(std::vector<JobRow>& rows, const ViewState& state, const StartTable& table,
                 Now now);

// How the estimates of starts came out: all, then queue by queue.
EstimatesReply estimates_reply(const EstimateBook& book, const StartTable& table);

}  // namespace muster
