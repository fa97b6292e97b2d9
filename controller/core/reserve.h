// Making, changing, removing and ending reservations. Internal to the core.
#pragma once

#include "controller/core/step.h"

namespace muster {

constexpr Duration kStartLateMax = minutes(1);  // A start that was "now" when it was typed.
constexpr Duration kReservationMax = days(3650);
constexpr Duration kEveryMin = minutes(10);
// One that is over stays so long, and nothing goes so soon after a start of the controller, whose
// wall clock may still be wrong.
constexpr Duration kOverKept = hours(1);

void set_reservation(Step& step, const SetReservation& command);
void remove_reservation(Step& step, const RemoveReservation& command);
// Stops what is to be stopped at an end, and removes what is over.
void end_reservations(Step& step);
// Before any command: windows begin and end as the clocks say.
void follow_clock(Step& step);

}  // namespace muster
