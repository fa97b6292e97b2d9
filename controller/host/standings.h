// Who used how much of their share, and whose turn comes when: from the view and what the engine
// counts turns from.
#pragma once

#include <functional>
#include <string>

#include "base/message/request.h"
#include "controller/core/command.h"
#include "controller/core/standing.h"
#include "controller/host/view.h"

namespace muster {

constexpr std::size_t kTurnRowsMax = 10000;

// The name of a uid, or its number.
using NameOf = std::function<std::string(Uid)>;

SharesReply shares_reply(const Standing& standing, const ClusterConfig& config,
                         const Requester& who, const NameOf& name_of);
// Of the pending jobs that match; the first kTurnRowsMax.
TurnsReply turns_reply(const Standing& standing, const ViewState& state, const JobsBody& which);

}  // namespace muster
