// muster-compactor: folds the journal's finished segments into a snapshot. Runs beside the
// controller at low priority, reads only files that nobody writes to any more, and ends.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/daemon/command_line.h"
#include "base/daemon/daemon.h"
#include "controller/record/fold.h"

namespace {

constexpr int kNiceness = 10;

int run(const std::string& state_dir) {
  muster::ProcessOptions options;
  options.name = "muster-compactor";
  if (const auto begun = muster::begin_process(options); !begun) {
    std::fprintf(stderr, "muster-compactor: %s\n", begun.error().message.c_str());
    return muster::kExitOs;
  }
  // Not being allowed to be nice costs time, not truth.
  if (setpriority(PRIO_PROCESS, 0, kNiceness) != 0) std::perror("muster-compactor: nice");
  const auto folded = muster::fold_journal(state_dir);
  if (!folded) {
    std::fprintf(stderr, "muster-compactor: %s\n", folded.error().message.c_str());
    return folded.error().code == muster::ErrorCode::kUnavailable ? muster::kExitUnavailable
                                                                  : muster::kExitData;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Folds finished journal segments into a snapshot; the controller starts it.",
               "muster-compactor"};
  std::string state_dir;
  app.add_option("--state-dir", state_dir, "where journal/ and snapshots/ are")->required();
  app.set_version_flag("--version", std::string("muster-compactor ") + MUSTER_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return muster::end_command_line(app, error);
  }
  return run(state_dir);
}
