// The frame around every command.
#include "submit/cli/command.h"

#include <malloc.h>
#include <array>

#include <csignal>
#include <cstdlib>

#include "base/types/text.h"
#include "submit/cli/terminal.h"
#include "submit/script/value.h"

namespace muster {

namespace {

constexpr std::array kCommonOptions{
    Option{.name = "json", .help = "print JSON, with times in UTC"},
    Option{.name = "timeout",
           .value = "TIME",
           .kind = ValueKind::kSeconds,
           .help = "how long to wait for a controller that is away: 90s, 5m; a bare number is "
                   "seconds (default 60)",
           .example = "2m"},
    Option{
        .name = "gateway",
        .value = "PATH",
        .kind = ValueKind::kPath,
        .help = "the socket of the gateway (default: $MUSTER_GATEWAY, else the one of this host)",
        .example = "/run/muster/gateway.sock"},
    Option{.name = "help", .letter = 'h', .help = "print this and exit"},
    Option{.name = "version", .help = "print the release and exit"},
};

constexpr std::string_view kExitCodesText =
    "0    done\n"
    "64   the command line, a directive or the script is wrong\n"
    "65   the request can never be granted as it is\n"
    "66   no such job, node, queue or file\n"
    "67   not possible in the present state, or not allowed\n"
    "68   a limit is reached: ask for less, or later\n"
    "70   what came back cannot be true\n"
    "75   the gateway or the controller is away: try again\n"
    "130  interrupted";
static_assert(kExitUsage == 64 && kExitInvalid == 65 && kExitNotFound == 66 &&
              kExitConflict == 67 && kExitLimit == 68 && kExitCorrupt == 70 &&
              kExitUnavailable == 75 && kExitInterrupted == 130);

constexpr std::size_t kHelpColumn = 32;
constexpr std::size_t kHelpWidth = 96;

// text in lines that begin at kHelpColumn; the first one is begun already.
std::string wrapped(std::string_view text) {
  std::string out;
  std::size_t used = kHelpColumn;
  for (const std::string_view word : split_text(text, ' ')) {
    if (used + 1 + display_width(word) > kHelpWidth) {
      out += "\n" + std::string(kHelpColumn, ' ');
      used = kHelpColumn;
    } else if (used != kHelpColumn) {
      out += ' ';
      ++used;
    }
    out += word;
    used += display_width(word);
  }
  return out + "\n";
}

std::string help_of(const Option& option) {
  std::string left =
      option.letter != '\0' ? std::string("  -") + option.letter + ", " : std::string("      ");
  left += "--" + std::string(option.name);
  if (!option.value.empty()) left += " " + std::string(option.value);
  if (display_width(left) + 1 > kHelpColumn) {
    left += "\n" + std::string(kHelpColumn, ' ');
  } else {
    left += std::string(kHelpColumn - display_width(left), ' ');
  }
  return left + wrapped(option.help);
}

std::string indented(std::string_view lines) {
  std::string out;
  for (const std::string_view line : split_text(lines, '\n')) {
    if (!line.empty()) out += "  " + std::string(line) + "\n";
  }
  return out;
}

std::string section(std::string_view title, const std::string& content) {
  return content.empty() ? "" : "\n" + std::string(title) + ":\n" + content;
}

Result<Invocation> read_invocation(const Command& command, std::span<char*> arguments) {
  const std::vector<std::string> words(arguments.begin() + 1, arguments.end());
  WordRules rules;
  rules.origin = command.name;
  rules.options = command.options;
  rules.more_options = kCommonOptions;
  rules.operands = command.operands;
  auto parsed = parse_words(words, rules);
  if (!parsed) return parsed.error();
  Invocation call;
  call.command = &command;
  call.words = *std::move(parsed);
  call.json = call.options().has("json");
  const auto timeout = parse_seconds(call.options().text("timeout", "60"));
  MUSTER_ASSERT(timeout.ok());
  call.timeout = *timeout;
  call.gateway = call.options().text("gateway");
  return call;
}

// --help and --version work whatever else is on the line, but not behind "--" or a script.
bool asks_first_for(const Command& command, std::span<char*> arguments, std::string_view word) {
  for (const std::string_view given : arguments.subspan(1)) {
    if (given == word || (word == "--help" && given == "-h")) return true;
    if (given == "--" || (command.operands == Operands::kFirst && !given.starts_with("-")))
      return false;
  }
  return false;
}

}  // namespace

std::span<const Option> common_options() { return kCommonOptions; }

std::string help_text(const Command& command) {
  std::string options;
  for (const Option& option : command.options) options += help_of(option);
  std::string common;
  for (const Option& option : kCommonOptions) common += help_of(option);
  std::string text = std::string(command.name) + ": " + std::string(command.summary) + "\n";
  text += section("Usage", indented(command.synopsis));
  text += section("Options", options);
  text += section("Common options", common);
  if (!command.notes.empty()) text += "\n" + std::string(command.notes) + "\n";
  text += section("Examples", indented(command.examples));
  text += section("Exit codes", indented(command.exit_status) + indented(kExitCodesText));
  text += "\nMore: man " + std::string(command.name) + "\n";
  return text;
}

int run_command(const Command& command, std::string_view release, std::span<char*> arguments,
                Body body) {
  MUSTER_ASSERT(!arguments.empty());
  // A command lives for milliseconds: what it frees it may use again, the system need not have it.
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  std::signal(SIGPIPE, SIG_IGN);  // A gateway or a reader that goes away is an error, not a death.
  if (asks_first_for(command, arguments, "--help")) {
    print(help_text(command));
    return kExitOk;
  }
  if (asks_first_for(command, arguments, "--version")) {
    print(std::string(command.name) + " " + std::string(release) + "\n");
    return kExitOk;
  }
  auto call = read_invocation(command, arguments);
  if (!call) {
    print_error(call.error().message);
    return kExitUsage;
  }
  return body(*call);
}

int fail_command(const Invocation& call, const Error& error) {
  const std::string name(call.command->name);
  print_error(error.message.starts_with(name + ": ") ? error.message : name + ": " + error.message);
  return exit_code_of(error.code);
}

int fail_usage(const Invocation& call, const std::string& why) {
  print_error(std::string(call.command->name) + ": " + why);
  return kExitUsage;
}

int fail_input(const Error& error) {
  print_error(error.message);
  return kExitUsage;
}

void print_note(const Invocation& call, std::string_view note) {
  print_error(std::string(call.command->name) + ": note: " + std::string(note));
}

}  // namespace muster
