// Counting occurrences.
#include "controller/core/reservation.h"

#include <algorithm>
#include <numeric>

namespace muster {
namespace {

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::string list_text(std::string_view what, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text = std::string(what) + (names.size() == 1 ? " " : "s ");
  for (std::size_t i = 0; i < names.size() && i < kShown; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kShown ? text + ", …" : text;
}

}  // namespace

std::optional<WallWindow> occurrence_after(const Reservation& reservation, WallTime at) {
  const std::int64_t first_end = reservation.start.us + reservation.duration.us;
  std::int64_t from = reservation.start.us;
  if (at.us >= first_end) {
    if (reservation.every.us == 0) return std::nullopt;
    const std::int64_t passed = (at.us - first_end) / reservation.every.us + 1;
    from += passed * reservation.every.us;
  }
  return WallWindow{{from}, {from + reservation.duration.us}};
}

std::optional<WallTime> end_before(const Reservation& reservation, WallTime at) {
  const std::int64_t first_end = reservation.start.us + reservation.duration.us;
  if (at.us < first_end) return std::nullopt;
  if (reservation.every.us == 0) return WallTime{first_end};
  const std::int64_t passed = (at.us - first_end) / reservation.every.us;
  return WallTime{first_end + passed * reservation.every.us};
}

bool ever_meet(const Reservation& a, const Reservation& b) {
  if (a.every.us != 0 && b.every.us != 0) {
    // Their distances are all those that the greatest common divisor of the two periods allows.
    const std::int64_t step = std::gcd(a.every.us, b.every.us);
    const std::int64_t apart = ((b.start.us - a.start.us) % step + step) % step;
    return apart < a.duration.us || step - apart < b.duration.us;
  }
  const Reservation& rule = a.every.us != 0 ? a : b;
  const Reservation& once = a.every.us != 0 ? b : a;
  const std::optional<WallWindow> window = occurrence_after(rule, once.start);
  return window && window->from.us < once.start.us + once.duration.us;
}

bool admits(const Reservation& reservation, const std::string& user, const std::string& account) {
  return !reservation.maintenance && lists(reservation.users, user) &&
         lists(reservation.accounts, account);
}

std::string owners_text(const Reservation& reservation) {
  if (reservation.maintenance)
    return reservation.reason.empty() ? "for maintenance"
                                      : "for maintenance (" + reservation.reason + ")";
  std::string text = "of ";
  if (!reservation.users.empty()) text += list_text("user", reservation.users);
  if (!reservation.users.empty() && !reservation.accounts.empty()) text += " in ";
  if (!reservation.accounts.empty()) text += list_text("account", reservation.accounts);
  return text;
}

}  // namespace muster
