// gpuadmin: nodes, queues, the controller and its files.
#include <array>

#include "base/types/text.h"
#include "submit/cli/admin.h"
#include "submit/cli/command.h"

namespace muster {
namespace {

using K = ValueKind;
constexpr std::array kOptions{
    Option{.name = "reason",
           .value = "TEXT",
           .kind = K::kText,
           .help = "why a node is drained, removed, dead or reserved, or records are skipped",
           .example = "'fan broken'"},
    Option{
        .name = "deadline",
        .value = "TIME",
        .kind = K::kText,
        .help = "node drain, roll: requeue what still runs then: 2026-11-30T18:00, 18:00, now+2h",
        .example = "2h"},
    Option{.name = "run",
           .value = "COMMAND",
           .kind = K::kText,
           .help = "node roll: run it here for each node, with {node} in it replaced",
           .example = "'ssh {node} apt-get -y upgrade'"},
    Option{.name = "reboot",
           .help = "node roll: reboot each node (by ssh, or by --run) and wait for its new boot"},
    Option{.name = "max-down",
           .value = "N",
           .kind = K::kCount,
           .help = "node roll: at most so many of the nodes at once",
           .example = "2",
           .max = 100000},
    Option{.name = "back-within",
           .value = "TIME",
           .kind = K::kDuration,
           .help = "node roll: a node that is not back by then has failed (default 30m)",
           .example = "30m"},
    Option{.name = "resume",
           .value = "ID",
           .kind = K::kName,
           .help = "node roll: go on with the roll of this id",
           .example = "3f2a91c0"},
    Option{.name = "nodes",
           .value = "NODES",
           .kind = K::kHosts,
           .help = "reservation: these nodes, all of each",
           .example = "n[1-4]"},
    Option{.name = "count",
           .value = "N",
           .kind = K::kCount,
           .help = "reservation: so many nodes, chosen now",
           .example = "4",
           .max = 100000},
    Option{.name = "gpus-per-node",
           .value = "N",
           .kind = K::kCount,
           .help = "with --count: nodes that have at least so many GPUs",
           .example = "8",
           .max = 4096},
    Option{.name = "start",
           .value = "TIME",
           .kind = K::kText,
           .help = "reservation: when it begins: 2026-11-30T18:00, 18:00, now+2h, tomorrow, now",
           .example = "2026-11-30T18:00"},
    Option{.name = "end",
           .value = "TIME",
           .kind = K::kText,
           .help = "reservation: when it ends, instead of --duration",
           .example = "2026-11-30T20:00"},
    Option{.name = "duration",
           .value = "TIME",
           .kind = K::kDuration,
           .help = "reservation: how long it lasts",
           .example = "2h"},
    Option{.name = "every",
           .value = "TIME",
           .kind = K::kText,
           .help = "reservation: again daily, weekly, or after 7d, 12h; never",
           .example = "weekly"},
    Option{.name = "users",
           .value = "USER,…",
           .kind = K::kNames,
           .help = "reservation: for jobs of these users",
           .example = "kim,lee"},
    Option{.name = "accounts",
           .value = "ACCOUNT,…",
           .kind = K::kNames,
           .help = "reservation: for jobs of these accounts",
           .example = "vision"},
    Option{.name = "licences",
           .value = "NAME:N,…",
           .kind = K::kText,
           .help = "reservation: keep so many of these, with nodes or without; none",
           .example = "matlab:2"},
    Option{.name = "maintenance", .help = "reservation: for nobody's jobs"},
    Option{.name = "flex",
           .help = "reservation: its jobs may also start before it and on other nodes"},
    Option{.name = "ignore-running",
           .help = "reservation: although jobs may still run there when it begins"},
    Option{.name = "overlap",
           .help = "reservation: a maintenance although others have the nodes then"},
    Option{.name = "stop-at-end",
           .help = "reservation: stop jobs of it that still run when it ends"},
    Option{.name = "key",
           .value = "Z85",
           .kind = K::kText,
           .help = "node add: the node's public key (default: make a one-time token instead)",
           .example = "'rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7'"},
    Option{.name = "config",
           .value = "FILE",
           .kind = K::kPath,
           .help = "db migrate: the controller's configuration",
           .example = "/etc/muster/controller.toml"},
    Option{.name = "to",
           .value = "SEQ",
           .kind = K::kText,
           .help = "db skip: the record that accounting goes on with",
           .example = "120001"},
    Option{.name = "force", .help = "reload: the file alone, whatever was set at run time"},
    Option{.name = "yes", .help = "db skip: yes, that is meant"},
    Option{.name = "pid",
           .value = "N",
           .kind = K::kText,
           .help = "drill: the process to kill, on this host",
           .example = "4711"},
    Option{.name = "user",
           .value = "USER",
           .kind = K::kText,
           .help = "drill: whose the small jobs are (root owns none)",
           .example = "kim"},
};

constexpr Command kCommand{
    .name = "gpuadmin",
    .summary = "look after nodes and the controller",
    .synopsis =
        "gpuadmin node add NAME [--key Z85]\n"
        "gpuadmin node drain|resume|remove|confirm-dead NODES --reason TEXT\n"
        "gpuadmin node roll NODES --run COMMAND|--reboot --max-down N --reason TEXT [options]\n"
        "gpuadmin reservation add NAME --nodes NODES|--count N|--licences LIST --start TIME "
        "--duration TIME "
        "[options]\n"
        "gpuadmin reservation set NAME options\n"
        "gpuadmin reservation remove NAME\n"
        "gpuadmin reservation list\n"
        "gpuadmin queue|account|qos|user|licence list\n"
        "gpuadmin queue|account|qos|user|licence add|set NAME KEY=VALUE…\n"
        "gpuadmin queue|account|qos|user|licence remove NAME\n"
        "gpuadmin limit list\n"
        "gpuadmin limit set queue|account|qos|user NAME KEY=VALUE…\n"
        "gpuadmin limit remove queue|account|qos|user NAME [KEY…]\n"
        "gpuadmin usage set ACCOUNT USER GPU-SECONDS\n"
        "gpuadmin usage import FILE\n"
        "gpuadmin ping|status\n"
        "gpuadmin stats eta\n"
        "gpuadmin reload [--force]\n"
        "gpuadmin journal cat|verify DIR\n"
        "gpuadmin state dump DIR FILE\n"
        "gpuadmin audit verify FILE\n"
        "gpuadmin config check FILE\n"
        "gpuadmin config show|export\n"
        "gpuadmin db migrate --config FILE\n"
        "gpuadmin db skip --to SEQ --reason TEXT --yes\n"
        "gpuadmin drill controller|worker|db --pid N [--user USER] [-- COMMAND…]",
    .options = kOptions,
    .notes =
        "NODES is a list such as n1 or n[1-16]. The journal and audit verbs, config check and "
        "db migrate\n"
        "work without a running controller, on its host: they run the muster-controller installed "
        "beside\n"
        "this command.\n"
        "\n"
        "  node add           let a node join: prints the command to type there, and its token\n"
        "  node drain         start nothing more on these nodes; what runs there goes on\n"
        "  node resume        use drained nodes again\n"
        "  node remove        forget nodes that hold nothing\n"
        "  node confirm-dead  your word that these nodes run nothing any more; their jobs may "
        "start elsewhere\n"
        "  node roll          drain, act on and take back these nodes, a few at a time; to be gone "
        "on "
        "with after\n"
        "                     an interruption by --resume\n"
        "  reservation        keep nodes or licences for users or accounts, or free for "
        "maintenance, at "
        "some time; jobs of others\n"
        "                     end before it, jobs submitted with --reservation run within it\n"
        "  queue, account, qos, user, licence\n"
        "                     add, set, remove: KEY and VALUE as in the configuration file, lists "
        "with "
        "commas;\n"
        "                     at once, for good, and kept by a reload\n"
        "  limit set          KEY: running_jobs queued_jobs gpus cpus nodes gpu_minutes time_max "
        "array_elements;\n"
        "                     user.KEY: of each user in it, account.KEY: of each account; user "
        "'*': all "
        "others\n"
        "  limit remove       take these limits away, or all of them\n"
        "  usage set, import  what users of accounts used before or elsewhere, in the place of "
        "what "
        "was counted;\n"
        "                     FILE has lines account,user,gpu_seconds below such a header\n"
        "  stats eta          how well starts were estimated in the last 30 days, by queue\n"
        "  reload             read the configuration again; what was set by the verbs above stays, "
        "unless --force\n"
        "  journal cat        the journal of a state directory as JSON lines\n"
        "  journal verify     read and replay all of it\n"
        "  state dump         the state of a state directory as one file, for gpusim state; also "
        "beside a running controller\n"
        "  audit verify       check the chain of an audit file\n"
        "  config check       say what is wrong with a configuration, with line numbers\n"
        "  config show        the configuration as it is applied, as JSON\n"
        "  config export      queues, accounts, QOS and users as they are in force, as TOML for "
        "the file\n"
        "  db migrate         bring the database to the schema of this release\n"
        "  db skip            go on without records that the database lacks and the journal lost\n"
        "  drill              kill a daemon on a live system, start it again by COMMAND when "
        "nobody else does,\n"
        "                     and count small jobs lost, repeated, billed wrongly, and how late",
    .examples =
        "gpuadmin node add n3\n"
        "gpuadmin node drain n[1-2] --reason 'new kernel'\n"
        "gpuadmin node roll n[1-16] --reboot --max-down 2 --reason 'new kernel'\n"
        "gpuadmin queue set day time_max=12h accounts=vision,speech\n"
        "gpuadmin limit set account vision gpus=64 user.gpus=8\n"
        "gpuadmin reservation add kernel --nodes n[1-8] --start 2026-11-30T18:00 --duration 2h "
        "--maintenance\n"
        "gpuadmin config check /etc/muster/controller.toml\n"
        "gpuadmin drill controller --pid $(pidof muster-controller) --user kim",
    .exit_status =
        "1    drill: something was lost, repeated or billed wrongly; node roll: not all nodes are "
        "done\n"
        "78   config check, db migrate: the configuration is wrong",
};

struct VerbEntry {
  std::string_view words;
  AdminVerb run;
};
constexpr std::array kVerbs{
    VerbEntry{"node add", node_add},
    VerbEntry{"node drain", node_change},
    VerbEntry{"node resume", node_change},
    VerbEntry{"node remove", node_change},
    VerbEntry{"node confirm-dead", node_change},
    VerbEntry{"node roll", node_roll},
    VerbEntry{"reservation add", reservation_change},
    VerbEntry{"reservation set", reservation_change},
    VerbEntry{"reservation remove", reservation_change},
    VerbEntry{"reservation list", reservation_list},
    VerbEntry{"queue list", queue_list},
    VerbEntry{"account list", account_list},
    VerbEntry{"queue add", object_change},
    VerbEntry{"queue set", object_change},
    VerbEntry{"queue remove", object_change},
    VerbEntry{"account add", object_change},
    VerbEntry{"account set", object_change},
    VerbEntry{"account remove", object_change},
    VerbEntry{"qos list", object_list},
    VerbEntry{"qos add", object_change},
    VerbEntry{"qos set", object_change},
    VerbEntry{"qos remove", object_change},
    VerbEntry{"user list", object_list},
    VerbEntry{"user add", object_change},
    VerbEntry{"user set", object_change},
    VerbEntry{"user remove", object_change},
    VerbEntry{"licence list", object_list},
    VerbEntry{"licence add", object_change},
    VerbEntry{"licence set", object_change},
    VerbEntry{"licence remove", object_change},
    VerbEntry{"limit list", object_list},
    VerbEntry{"limit set", limit_change},
    VerbEntry{"limit add", limit_change},
    VerbEntry{"limit remove", limit_change},
    VerbEntry{"usage set", usage_set},
    VerbEntry{"usage import", usage_import},
    VerbEntry{"config export", config_export},
    VerbEntry{"ping", ping},
    VerbEntry{"status", status},
    VerbEntry{"stats eta", stats_eta},
    VerbEntry{"reload", reload},
    VerbEntry{"journal cat", run_offline},
    VerbEntry{"journal verify", run_offline},
    VerbEntry{"state dump", run_offline},
    VerbEntry{"audit verify", run_offline},
    VerbEntry{"config check", run_offline},
    VerbEntry{"config show", config_show},
    VerbEntry{"db migrate", run_offline},
    VerbEntry{"db skip", db_skip},
    VerbEntry{"drill", drill},
};

int run(const Invocation& call) {
  const std::vector<std::string>& words = call.words.operands;
  if (call.words.has_rest && (words.empty() || words[0] != "drill")) {
    return fail_usage(call, "unexpected \"--\"");
  }
  if (words.empty()) return fail_usage(call, "what to do? gpuadmin --help lists the verbs");
  const std::string first = words[0];
  const std::string both = words.size() > 1 ? first + " " + words[1] : first;
  std::vector<std::string_view> known;
  for (const VerbEntry& verb : kVerbs) {
    known.push_back(verb.words);
    if (verb.words == first) return verb.run(call, first, std::span(words).subspan(1));
    if (verb.words == both) return verb.run(call, both, std::span(words).subspan(2));
  }
  std::string_view near = nearest_match(both, known);
  if (near.empty()) near = nearest_match(first, known);
  for (std::string_view& verb : known) verb = verb.substr(0, verb.find(' '));
  if (near.empty()) near = nearest_match(first, known);
  return fail_usage(call, "unknown verb \"" + escape_for_terminal(both.substr(0, 64)) + "\"" +
                              (near.empty() ? "; gpuadmin --help lists them"
                                            : "; did you mean " + std::string(near) + "?"));
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  return muster::run_command(muster::kCommand, MUSTER_VERSION,
                             {argv, static_cast<std::size_t>(argc)}, muster::run);
}
