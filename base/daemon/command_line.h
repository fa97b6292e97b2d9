// How a daemon's command line ends when it is not taken: help, version, or one line and a code.
#pragma once

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace muster {

// For main(): prints help or the version to standard output and returns 0, or says on standard
// error what is wrong, an unknown option with the nearest right one, and returns kExitUsage.
int end_command_line(const CLI::App& app, const CLI::ParseError& error);

}  // namespace muster
