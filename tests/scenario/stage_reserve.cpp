// Playing what is about reservations. Times are those of the scenario, told by the wall clock as it
// stood at its beginning.
#include "base/types/size.h"
#include "tests/scenario/stage.h"

namespace muster::scenario {
namespace {

Duration time_of(const std::string& text) {
  const Result<Duration> parsed =
      text == "0s" ? Result<Duration>(Duration{}) : parse_duration(text);
  MUSTER_ASSERT(parsed.ok());
  return *parsed;
}

std::uint32_t count_of(const std::string& text) {
  const Result<std::uint64_t> count = parse_count(text, 0, UINT32_MAX);
  MUSTER_ASSERT(count.ok());
  return static_cast<std::uint32_t>(*count);
}

}  // namespace

WallTime Stage::wall_at(const std::string& time) const {
  return {world_.now().wall.us - world_.wall_step.us - clock_.us + time_of(time).us};
}

Result<void> Stage::reserve(const Statement& statement) {
  if (statement.words.empty()) return fail(ErrorCode::kInvalid, "reserve NAME");
  begin();
  const auto given = [&](const char* key) { return statement.options.count(key) != 0; };
  const auto wall = [&](const char* key) { return wall_at(statement.option(key)); };
  ReservationSpec spec;
  spec.nodes = split(statement.option("nodes"), ',');
  spec.count = count_of(statement.option("count", "0"));
  spec.gpus_per_node = count_of(statement.option("gpus", "0"));
  if (given("start")) spec.start = statement.option("start") == "now" ? WallTime{} : wall("start");
  if (given("end")) spec.end = wall("end");
  if (given("duration")) spec.duration = time_of(statement.option("duration"));
  if (given("every")) spec.every = time_of(statement.option("every"));
  if (given("users")) spec.users = split(statement.option("users"), ',');
  if (given("accounts")) spec.accounts = split(statement.option("accounts"), ',');
  if (given("licences")) spec.licences = licences_of(statement.option("licences"));
  spec.reason = statement.option("reason");
  spec.maintenance = statement.has("maintenance");
  spec.flex = statement.has("flex");
  spec.ignore_running = statement.has("ignore_running");
  spec.overlap = statement.has("overlap");
  spec.stop_at_end = statement.has("stop_at_end");
  const Requester who = given("user") ? requester(statement) : World::admin();
  command(SetReservation{who, statement.words[0], statement.verb == "reserve", spec});
  return {};
}

Result<void> Stage::unreserve(const Statement& statement) {
  if (statement.words.empty()) return fail(ErrorCode::kInvalid, "unreserve NAME");
  const Requester who =
      statement.options.count("user") != 0 ? requester(statement) : World::admin();
  command(RemoveReservation{who, statement.words[0]});
  return {};
}

// "+1h" or "-1h".
Result<void> Stage::wall_clock(const Statement& statement) {
  const std::string text = statement.words.empty() ? "" : statement.words[0];
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-'))
    return fail(ErrorCode::kInvalid, "wall +TIME or -TIME");
  const Duration step = time_of(text.substr(1));
  world_.wall_step = text[0] == '+' ? world_.wall_step + step : world_.wall_step - step;
  return {};
}

}  // namespace muster::scenario
