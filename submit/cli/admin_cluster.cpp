// gpuadmin queue, account, ping, status, stats, config show, db skip, reload.
#include <ctime>

#include "base/message/json.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/caller.h"
#include "submit/cli/table.h"
#include "submit/cli/terminal.h"
#include "submit/cli/when.h"

namespace muster {

namespace {

int refuse_words(const Invocation& call, std::string_view verb,
                 std::span<const std::string> words) {
  return fail_usage(call,
                    std::string(verb) + ": unexpected \"" + escape_for_terminal(words[0]) + "\"");
}

std::string time_or_dash(Duration time) { return time.us == 0 ? "-" : to_clock(time); }

std::string percent(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? "-" : std::to_string(part * 100 / all) + " %";
}

std::string estimates_text(const EstimatesReply& reply, const Terminal& terminal) {
  std::string text = "Starts are estimated of " + std::to_string(reply.jobs_told) +
                     " jobs that wait. Of those that started in the last " +
                     std::to_string(reply.days) + " days:\n";
  Table table({{"QUEUE"},
               {"JOBS", Align::kRight},
               {"BY P50", Align::kRight},
               {"BY P90", Align::kRight},
               {"ERROR", Align::kRight}});
  for (const EstimateLine& row : reply.rows) {
    table.add({row.queue.empty() ? "(all)" : row.queue, std::to_string(row.jobs),
               percent(row.p50_held, row.jobs), percent(row.p90_held, row.jobs),
               row.jobs == 0 ? "-" : to_text(row.error_median)});
  }
  return text + table.render(terminal) +
         "BY P50, BY P90: started by the time that one of two, nine of ten should (a minute's "
         "grace). ERROR: half were off by no more.\n";
}

std::int64_t monotonic_us() {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

std::string status_text(const StatusReply& status) {
  constexpr std::size_t kNameWidth = 16;
  std::string text;
  const auto line = [&text](std::string_view name, const std::string& value) {
    text += std::string(name) +
            std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' ') +
            escape_for_terminal(value) + "\n";
  };
  line("Cluster:", status.cluster);
  line("Release:", status.release);
  line("Since:", local_time_with_seconds(status.started));
  line("Epoch:", std::to_string(status.epoch.value));
  line("Journal:", "record " + std::to_string(status.seq.value) + " is on disk" +
                       (status.disk_full ? "; THE DISK IS FULL: nothing can be submitted" : ""));
  line("Configuration:", "version " + std::to_string(status.config_version));
  line("Nodes:", std::to_string(status.nodes_connected) + " of " + std::to_string(status.nodes) +
                     " connected");
  line("Jobs:", std::to_string(status.jobs_running) + " running, " +
                    std::to_string(status.jobs_pending) + " pending");
  std::string database = status.database_connected ? "connected" : "not connected";
  if (status.database_seq.value != 0)
    database += ", has record " + std::to_string(status.database_seq.value);
  if (!status.database_error.empty()) database += ": " + status.database_error;
  line("Database:", database);
  line("Memory:", memory_to_text((status.memory_kib + 1023) / 1024));
  line("Your role:", status.role);
  for (const std::string& alarm : status.alarms) line("ALARM:", alarm);
  return text;
}

}  // namespace

int queue_list(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<QueuesReply>(Verb::kQueues, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  Table table({{"QUEUE"},
               {"STATE"},
               {"PRIORITY", Align::kRight, 0, 3},
               {"TIME", Align::kRight, 0, 2},
               {"TIME MAX", Align::kRight},
               {"NODES", Align::kRight},
               {"GPUS USED", Align::kRight},
               {"RUNNING", Align::kRight},
               {"PENDING", Align::kRight}});
  for (const QueueRow& row : reply->rows) {
    table.add({row.name + (row.is_default ? "*" : ""),
               Cell(row.open ? "open" : "closed", row.open ? Colour::kGreen : Colour::kRed),
               std::to_string(row.priority), time_or_dash(row.time_default),
               time_or_dash(row.time_max), std::to_string(row.nodes),
               std::to_string(row.gpus_used) + "/" + std::to_string(row.gpus),
               std::to_string(row.jobs_running), std::to_string(row.jobs_pending)});
  }
  print(table.render(describe_stdout()));
  return kExitOk;
}

int account_list(const Invocation& call, std::string_view verb,
                 std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<AccountsReply>(Verb::kAccounts, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  Table table({{"ACCOUNT"}, {"PARENT"}, {"USERS", Align::kLeft, 10}});
  for (const AccountRow& row : reply->rows) {
    std::string users;
    for (const std::string& user : row.users) users += (users.empty() ? "" : ",") + user;
    table.add({row.name + (row.is_default ? "*" : ""), row.parent.empty() ? "-" : row.parent,
               users.empty() ? "everybody" : users});
  }
  print(table.render(describe_stdout()));
  return kExitOk;
}

int ping(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  const std::int64_t asked_at = monotonic_us();
  auto reply = caller.ask<StatusReply>(Verb::kPing, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  const std::int64_t took_us = monotonic_us() - asked_at;
  print("The controller of " + escape_for_terminal(reply->cluster) + " (" +
        escape_for_terminal(reply->release) + ") answers in " + std::to_string(took_us / 1000) +
        "." + std::to_string(took_us / 100 % 10) + " ms\n");
  return kExitOk;
}

int status(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<StatusReply>(Verb::kStatus, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : status_text(*reply));
  return kExitOk;
}

int stats_eta(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<EstimatesReply>(Verb::kEstimates, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : estimates_text(*reply, describe_stdout()));
  return kExitOk;
}

int config_show(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<ConfigReply>(Verb::kConfigShow, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  print(reply->json + "\n");
  return kExitOk;
}

int db_skip(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  const Arguments& options = call.options();
  if (!options.has("to")) return fail_usage(call, "db skip: give the next record with --to SEQ");
  const auto next = parse_count(options.text("to"), 1, UINT64_MAX);
  if (!next) return fail_usage(call, "--to: " + next.error().message);
  if (!options.has("reason")) return fail_usage(call, "db skip: say why: --reason TEXT");
  if (!options.has("yes")) {
    return fail_usage(call,
                      "db skip: what lies before record " + std::to_string(*next) +
                          " and is not in the database is lost to accounting, for ever; say --yes "
                          "when that is meant");
  }
  Caller caller(call);
  const DatabaseSkipBody body{Seq{*next}, std::string(options.text("reason"))};
  auto reply = caller.ask<ChangeReply>(Verb::kDatabaseSkip, body);
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  print("Accounting goes on with record " + std::to_string(*next) + "\n");
  for (const std::string& note : reply->notes) print_note(call, note);
  return kExitOk;
}

int reload(const Invocation& call, std::string_view verb, std::span<const std::string> words) {
  if (!words.empty()) return refuse_words(call, verb, words);
  Caller caller(call);
  auto reply = caller.ask<ChangeReply>(Verb::kReload, ReloadBody{call.options().has("force")});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  print("The configuration was read again\n");
  for (const std::string& note : reply->notes) print_note(call, note);
  return kExitOk;
}

}  // namespace muster
