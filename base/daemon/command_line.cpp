// What CLI11 refused, in one line.
#include "base/daemon/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/daemon/daemon.h"
#include "base/types/text.h"

namespace muster {

namespace {

// With those of the subcommand that was given.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands()) {
    for (std::string& name : option_names(*command)) names.push_back(std::move(name));
  }
  return names;
}

std::string what_is_wrong(const CLI::App& app, const CLI::ParseError& error) {
  for (const std::string& word : app.remaining(true)) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    const std::vector<std::string> names = option_names(app);
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string_view near = nearest_match(name, known);
    return "unknown option " + escape_for_terminal(name) +
           (near.empty() ? "; --help lists all" : "; did you mean " + std::string(near) + "?");
  }
  return escape_for_terminal(error.what()) + "; see --help";
}

}  // namespace

int end_command_line(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), what_is_wrong(app, error).c_str());
  return kExitUsage;
}

}  // namespace muster
