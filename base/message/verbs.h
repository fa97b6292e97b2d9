// Facts about verbs that more than one program goes by.
#pragma once

#include "base/message/request.h"

namespace muster {

// True for verbs that change something: they carry a request id, and a retry is the same request.
constexpr bool is_mutating(Verb verb) {
  switch (verb) {
    case Verb::kSubmit:
    case Verb::kCancel:
    case Verb::kHold:
    case Verb::kRelease:
    case Verb::kRequeue:
    case Verb::kTop:
    case Verb::kSet:
    case Verb::kNodeAdd:
    case Verb::kNodeDrain:
    case Verb::kNodeResume:
    case Verb::kNodeRemove:
    case Verb::kNodeConfirmDead:
    case Verb::kReload:
    case Verb::kDatabaseSkip:
    case Verb::kObjectChange:
    case Verb::kReservationAdd:
    case Verb::kReservationSet:
    case Verb::kReservationRemove:
    case Verb::kUsageSet:
    case Verb::kStateDump:
      return true;
    case Verb::kPing:
    case Verb::kStatus:
    case Verb::kJobs:
    case Verb::kJob:
    case Verb::kWhy:
    case Verb::kWatch:
    case Verb::kNodes:
    case Verb::kQueues:
    case Verb::kAccounts:
    case Verb::kAccounting:
    case Verb::kLogOpen:
    case Verb::kLogRead:
    case Verb::kLogClose:
    case Verb::kConfigShow:
    case Verb::kShares:
    case Verb::kTurns:
    case Verb::kObjects:
    case Verb::kReservations:
    case Verb::kEstimates:
    case Verb::kLicences:
      return false;
  }
  return false;
}

}  // namespace muster
