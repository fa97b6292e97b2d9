// The table of reservations, of gpuadmin and gpuinfo.
#pragma once

#include <string>
#include <vector>

#include "base/message/cluster_request.h"
#include "submit/cli/terminal.h"

namespace muster {

std::string reservations_table(const std::vector<ReservationRow>& rows, const Terminal& terminal);

}  // namespace muster
