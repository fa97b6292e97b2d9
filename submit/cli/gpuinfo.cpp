// gpuinfo: nodes and GPUs, what is free, who holds which.
#include <algorithm>
#include <array>
#include <map>

#include "base/message/json.h"
#include "base/types/hostlist.h"
#include "base/types/size.h"
#include "base/types/text.h"
#include "submit/cli/caller.h"
#include "submit/cli/command.h"
#include "submit/cli/reservation_table.h"
#include "submit/cli/table.h"
#include "submit/cli/when.h"

namespace muster {
namespace {

constexpr std::array kOptions{
    Option{.name = "reservations", .letter = 'r', .help = "reservations instead of nodes"},
    Option{.name = "gpus", .letter = 'g', .help = "a line for each GPU, with who holds it"},
    Option{.name = "licences", .letter = 'l', .help = "licences: how many are free"},
    Option{.name = "shares", .help = "accounts: their shares, what was used, and how you stand"},
};

constexpr Command kCommand{
    .name = "gpuinfo",
    .summary = "show nodes and GPUs, and who holds which",
    .synopsis = "gpuinfo [options] [NODES…]\ngpuinfo --licences|--reservations|--shares",
    .options = kOptions,
    .notes =
        "NODES is a list such as n1 or n[1-16]. With NODES, or with --gpus, the GPUs are shown one "
        "by one.\n"
        "With --shares: the tree of accounts with the part of the cluster that is due to each, the "
        "part of\n"
        "what was used, and the factor for fair share that its jobs get.",
    .examples =
        "gpuinfo             # all nodes\n"
        "gpuinfo --gpus      # all GPUs and their holders\n"
        "gpuinfo n[1-4]      # these nodes\n"
        "gpuinfo --shares    # who has used how much of their share\n"
        "gpuinfo -r          # what is reserved, for whom, and when\n"
        "gpuinfo -l          # how many licences are free",
};

Colour colour_of(const std::string& state) {
  if (state == "up") return Colour::kGreen;
  const bool is_kept =
      state == "drained" || state == "draining" || state == "reserved" || state == "maintenance";
  return is_kept ? Colour::kYellow : Colour::kRed;
}

// "h100" or "a100,h100"; "-" without any.
std::string types_of(const NodeRow& node) {
  std::map<std::string, unsigned> counts;
  for (const DeviceRow& gpu : node.gpus) ++counts[gpu.facts.type];
  std::string text;
  for (const auto& [type, count] : counts) text += (text.empty() ? "" : ",") + type;
  return text.empty() ? "-" : text;
}

std::string used_of(std::uint64_t used, std::uint64_t all) {
  return std::to_string(used) + "/" + std::to_string(all);
}

// "reservation course until 2026-11-30 18:00", "… from …".
std::string reservation_note(const NodeRow& node) {
  const bool is_on = node.reserved_from <= wall_now();
  return "reservation " + node.reservation + (is_on ? " until " : " from ") +
         local_time(is_on ? node.reserved_until : node.reserved_from);
}

// "new kernel (user root (uid 0), since 2026-11-30 18:07; requeues at 2026-11-30 20:00)"
std::string drain_note(const NodeRow& node) {
  if (node.drained_since.us == 0) return node.reason;
  std::string text =
      node.drain_reason + " (" + node.drained_by + ", since " + local_time(node.drained_since);
  if (node.drain_deadline.us != 0) text += "; requeues at " + local_time(node.drain_deadline);
  text += ")";
  return node.state == "drained" || node.reason.empty() ? text : node.reason + "; " + text;
}

int show_reservations(const Invocation& call, Caller& caller) {
  auto reply = caller.ask<ReservationsReply>(Verb::kReservations, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  print(call.json ? to_json(*reply) + "\n" : reservations_table(reply->rows, describe_stdout()));
  return kExitOk;
}

int show_licences(const Invocation& call, Caller& caller) {
  auto reply = caller.ask<LicencesReply>(Verb::kLicences, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  Table table(
      {{"LICENCE"}, {"TOTAL", Align::kRight}, {"USED", Align::kRight}, {"FREE", Align::kRight}});
  for (const LicenceRow& row : reply->rows) {
    table.add({row.name, std::to_string(row.total), std::to_string(row.used),
               Cell(std::to_string(row.free), row.free == 0 ? Colour::kYellow : Colour::kNone)});
  }
  print(table.render(describe_stdout()));
  return kExitOk;
}

std::string nodes_table(const std::vector<NodeRow>& rows, const Terminal& terminal) {
  Table table({{"NODE"},
               {"STATE"},
               {"GPUS USED", Align::kRight},
               {"TYPE", Align::kLeft, 4, 1},
               {"CPUS USED", Align::kRight, 0, 2},
               {"MEMORY USED", Align::kRight, 0, 3},
               {"NOTE", Align::kLeft, 8}});
  for (const NodeRow& node : rows) {
    const auto used = std::count_if(node.gpus.begin(), node.gpus.end(),
                                    [](const DeviceRow& gpu) { return gpu.milli_used != 0; });
    const std::string memory =
        memory_to_text(node.memory_mib_used) + "/" + memory_to_text(node.memory_mib);
    std::string note = drain_note(node);
    if (!node.connected && note.empty()) note = "not connected";
    if (!node.reservation.empty())
      note = reservation_note(node) + (note.empty() ? "" : "; " + note);
    if (!node.alarm.empty()) note = "ALARM: " + node.alarm + (note.empty() ? "" : "; " + note);
    table.add({node.name, Cell(node.state, colour_of(node.state)),
               used_of(static_cast<std::uint64_t>(used), node.gpus.size()), types_of(node),
               used_of(node.cpus_used, node.cpus), memory, note});
  }
  return table.render(terminal);
}

std::string gpus_table(const std::vector<NodeRow>& rows, const Terminal& terminal) {
  Table table({{"NODE"},
               {"GPU", Align::kRight},
               {"TYPE"},
               {"MEMORY", Align::kRight, 0, 2},
               {"STATE"},
               {"HELD BY", Align::kLeft, 8},
               {"UUID", Align::kLeft, 0, 3}});
  for (const NodeRow& node : rows) {
    for (const DeviceRow& gpu : node.gpus) {
      std::string state(name_of(gpu.facts.state));
      if (!gpu.facts.state_reason.empty()) state += " (" + gpu.facts.state_reason + ")";
      std::string holders;
      for (const std::string& holder : gpu.holders)
        holders += (holders.empty() ? "" : ", ") + holder;
      const bool is_ready = gpu.facts.state == DeviceState::kReady;
      table.add({node.name, std::to_string(gpu.facts.index), gpu.facts.type,
                 memory_to_text(gpu.facts.memory_mib),
                 Cell(state, is_ready ? Colour::kNone : Colour::kRed),
                 holders.empty() ? "-" : holders, gpu.facts.uuid});
    }
  }
  return table.render(terminal);
}

// Thousandths of a percent hide where a tenth does.
std::string percent(std::uint32_t ppm) {
  const std::uint32_t tenths = (ppm + 500) / 1000;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string shares_table(const SharesReply& shares, const Terminal& terminal) {
  Table table({{"ACCOUNT"},
               {"USER"},
               {"SHARE", Align::kRight},
               {"USED", Align::kRight},
               {"FACTOR", Align::kRight, 0, 1}});
  for (const ShareLine& row : shares.rows) {
    const bool is_user = !row.user.empty();
    std::string factor = std::to_string(1000 + row.factor_ppm / 1000);
    factor = (row.factor_ppm >= 1000000 ? "1." : "0.") + factor.substr(factor.size() - 3);
    table.add({std::string(std::size_t{row.depth} * 2, ' ') + (is_user ? "" : row.account),
               is_user ? row.user : "-", percent(row.share_ppm), percent(row.used_ppm),
               is_user ? factor : "-"});
  }
  return table.render(terminal);
}

int show_shares(const Invocation& call) {
  Caller caller(call);
  auto reply = caller.ask<SharesReply>(Verb::kShares, NoBody{});
  if (!reply) return fail_command(call, reply.error());
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  std::string text = shares_table(*reply, describe_stdout()) + "\n";
  for (const std::string& line : reply->own) text += escape_for_terminal(line) + "\n";
  print(text);
  return kExitOk;
}

int run(const Invocation& call) {
  if (call.words.has_rest) return fail_usage(call, "unexpected \"--\"");
  for (const std::string_view option : {"shares", "licences"}) {
    if (call.options().has(option) && !call.words.operands.empty())
      return fail_usage(call, "--" + std::string(option) + " is about no node; leave NODES out");
  }
  if (call.options().has("shares")) return show_shares(call);
  NodesBody body;
  for (const std::string& word : call.words.operands) {
    auto names = parse_hostlist(word);
    if (!names) return fail_usage(call, "NODES: " + names.error().message);
    body.nodes.insert(body.nodes.end(), names->begin(), names->end());
  }
  Caller caller(call);
  if (call.options().has("reservations")) return show_reservations(call, caller);
  if (call.options().has("licences")) return show_licences(call, caller);
  auto reply = caller.ask<NodesReply>(Verb::kNodes, body);
  if (!reply) return fail_command(call, reply.error());
  std::sort(reply->rows.begin(), reply->rows.end(),
            [](const NodeRow& a, const NodeRow& b) { return host_before(a.name, b.name); });
  if (call.json) {
    print(to_json(*reply) + "\n");
    return kExitOk;
  }
  const Terminal terminal = describe_stdout();
  const bool with_gpus = call.options().has("gpus") || !body.nodes.empty();
  std::string text = call.options().has("gpus") ? "" : nodes_table(reply->rows, terminal);
  if (with_gpus) text += (text.empty() ? "" : "\n") + gpus_table(reply->rows, terminal);
  print(text);
  return kExitOk;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
