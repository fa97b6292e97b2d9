// What every command has in common: its description, --help, the common options, errors and exit
// codes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types/result.h"
#include "base/types/time.h"
#include "submit/client/exit_codes.h"
#include "submit/script/arguments.h"

namespace muster {

// Everything --help shows. The manual page says the same at more length; a test compares the two.
struct Command {
  std::string_view name;      // "gpuqueue".
  std::string_view summary;   // "show the queue".
  std::string_view synopsis;  // One way of calling it a line.
  std::span<const Option> options = {};
  Operands operands = Operands::kMixed;
  std::string_view notes = {};        // Further paragraphs, wrapped by hand; may be empty.
  std::string_view examples = {};     // One a line, each with a "# comment".
  std::string_view exit_status = {};  // Further lines of the list of exit codes; may be empty.
};

struct Invocation {
  const Command* command = nullptr;
  ParsedWords words;
  bool json = false;
  Duration timeout;     // How long to wait for a controller that is away.
  std::string gateway;  // Its socket; empty: where it usually is.

  const Arguments& options() const { return words.options; }
};

// --json --timeout --gateway --help --version.
std::span<const Option> common_options();
std::string help_text(const Command& command);

// Parses, deals with --help and --version, prints errors, and calls body, whose result is the exit
// code.
using Body = int (*)(const Invocation&);
// release is what --version says.
int run_command(const Command& command, std::string_view release, std::span<char*> arguments,
                Body body);

// "gpuqueue: …" to standard error; the exit code that goes with it.
int fail_command(const Invocation& call, const Error& error);
// The same for a mistake in the call itself.
int fail_usage(const Invocation& call, const std::string& why);
// The same for bad input whose message begins with its place: "train.sh:3: …".
int fail_input(const Error& error);
// A line to standard error that changes nothing: "gpuqueue: note: …".
void print_note(const Invocation& call, std::string_view note);

}  // namespace muster
