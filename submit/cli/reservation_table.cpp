// A line a reservation.
#include "submit/cli/reservation_table.h"

#include "submit/cli/table.h"
#include "submit/cli/when.h"

namespace muster {

namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

std::string owners_of(const ReservationRow& row) {
  if (row.maintenance) return "maintenance";
  std::string text = joined(row.users);
  if (!row.accounts.empty())
    text += (text.empty() ? "account " : " in account ") + joined(row.accounts);
  return text;
}

// "n[1-4], 6 of matlab"
std::string kept_by(const ReservationRow& row) {
  std::string text = row.nodes;
  for (const LicenceCount& licence : row.licences)
    text += (text.empty() ? "" : ", ") + std::to_string(licence.count) + " of " + licence.name;
  return text;
}

std::string note_of(const ReservationRow& row) {
  std::string text = row.reason;
  const auto add = [&text](bool is, const char* word) {
    if (is) text += (text.empty() ? "" : "; ") + std::string(word);
  };
  add(row.flex, "flex");
  add(row.overlap, "overlap");
  add(row.stop_at_end, "stops at its end");
  return text;
}

Colour colour_of(const std::string& state) {
  if (state == "active") return Colour::kYellow;
  return state == "over" ? Colour::kFaint : Colour::kNone;
}

}  // namespace

std::string reservations_table(const std::vector<ReservationRow>& rows, const Terminal& terminal) {
  Table table({{"RESERVATION"},
               {"STATE"},
               {"FROM"},
               {"UNTIL"},
               {"EVERY", Align::kLeft, 0, 2},
               {"KEEPS", Align::kLeft, 8},
               {"FOR", Align::kLeft, 8},
               {"NOTE", Align::kLeft, 8, 1}});
  for (const ReservationRow& row : rows) {
    table.add({row.name, Cell(row.state, colour_of(row.state)), local_time(row.start),
               local_time(row.end), row.every.us == 0 ? "-" : to_text(row.every), kept_by(row),
               owners_of(row), note_of(row)});
  }
  return table.render(terminal);
}

}  // namespace muster
