// gpuadmin reservation …
#include <algorithm>

#include "base/message/json.h"
#include "base/types/hostlist.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/reservation_table.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"
#include "submit/script/value.h"

namespace muster {

namespace {

Error wrong(const std::string& option, const Error& error) {
  return fail(ErrorCode::kInvalid, "--" + option + ": " + error.message);
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "daily", "weekly", "never", or a duration.
Result<Duration> period_of(std::string_view text) {
  if (text == "never") return Duration{};
  if (text == "daily") return days(1);
  if (text == "weekly") return days(7);
  return parse_duration(text);
}

Result<void> take_times(const Arguments& options, ReservationSpec& spec) {
  const WallTime now = wall_now();
  for (const auto& [name, into] : {std::pair{"start", &spec.start}, {"end", &spec.end}}) {
    if (!options.has(name)) continue;
    auto at = parse_when_ahead(options.text(name), now);
    if (!at) return wrong(name, at.error());
    const bool is_now = into == &spec.start && *at == now;
    *into = is_now ? WallTime{} : *at;
  }
  if (options.has("duration")) spec.duration = *parse_duration(options.text("duration"));
  if (!options.has("every")) return {};
  auto every = period_of(options.text("every"));
  if (!every) return wrong("every", every.error());
  spec.every = *every;
  return {};
}

Result<ReservationSpec> spec_of(const Arguments& options) {
  ReservationSpec spec;
  if (options.has("nodes")) {
    auto nodes = parse_hostlist(options.text("nodes"));
    if (!nodes) return wrong("nodes", nodes.error());
    spec.nodes = *std::move(nodes);
  }
  const auto count = [&](const char* name) {
    return static_cast<std::uint32_t>(*parse_count(options.text(name, "0"), 0, kHostsMax));
  };
  spec.count = count("count");
  spec.gpus_per_node = count("gpus-per-node");
  if (options.has("users")) spec.users = names_in(options.text("users"));
  if (options.has("accounts")) spec.accounts = names_in(options.text("accounts"));
  if (options.has("licences")) {
    spec.licences.emplace();
    if (options.text("licences") != "none") {
      auto licences = parse_licences(options.text("licences"));
      if (!licences) return wrong("licences", licences.error());
      spec.licences = *std::move(licences);
    }
  }
  spec.reason = options.text("reason");
  spec.maintenance = options.has("maintenance");
  spec.flex = options.has("flex");
  spec.ignore_running = options.has("ignore-running");
  spec.overlap = options.has("overlap");
  spec.stop_at_end = options.has("stop-at-end");
  if (const auto times = take_times(options, spec); !times) return times.error();
  return spec;
}

}  // namespace

int reservation_change(const Invocation& call, std::string_view verb,
                       std::span<const std::string> words) {
  const std::string shown(verb);
  if (words.size() != 1)
    return fail_usage(call, shown + ": which one? For example gpuadmin " + shown + " course");
  if (const auto fine = check_name(words[0]); !fine)
    return fail_usage(call, shown + ": " + fine.error().message);
  ReservationBody body;
  body.name = words[0];
  Verb what = Verb::kReservationRemove;
  if (verb != "reservation remove") {
    auto spec = spec_of(call.options());
    if (!spec) return fail_usage(call, shown + ": " + spec.error().message);
    body.spec = *std::move(spec);
    what = verb == "reservation add" ? Verb::kReservationAdd : Verb::kReservationSet;
    if (what == Verb::kReservationSet && body.spec == ReservationSpec{})
      return fail_usage(call, shown + ": nothing to change; for example --duration 4h");
  }
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(what, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  const bool removed = what == Verb::kReservationRemove;
  print((removed ? "Removed reservation " : "Reservation ") + body.name +
        (removed || reply->notes.empty()
             ? "\n"
             : ": " + escape_for_terminal(reply->notes.front()) + "\n"));
  for (std::size_t i = removed ? 0 : 1; i < reply->notes.size(); ++i)
    print_note(call, reply->notes[i]);
  return kExitOk;
}

int reservation_list(const Invocation& call, std::string_view verb,
                     std::span<const std::string> words) {
  if (!words.empty())
    return fail_usage(call,
                      std::string(verb) + ": unexpected \"" + escape_for_terminal(words[0]) + "\"");
  Caller caller(call);
  auto reply = caller.ask<ReservationsReply>(Verb::kReservations, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : reservations_table(reply->rows, describe_stdout()));
  return kExitOk;
}

}  // namespace muster
