// --help of every command against its golden text, and the calls that never reach a controller.
// MUSTER_GOLDEN_UPDATE=1 writes the golden texts anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/cli/programs.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

class Help : public ::testing::TestWithParam<const char*> {};

TEST_P(Help, IsGolden) {
  const std::string path =
      std::string(MUSTER_SOURCE_DIR) + "/tests/unit/cli/golden/" + GetParam() + ".txt";
  const Ran ran = run_program(GetParam(), "--help");
  EXPECT_EQ(ran.status, 0);
  if (std::getenv("MUSTER_GOLDEN_UPDATE") != nullptr) std::ofstream(path) << ran.output;
  EXPECT_EQ(ran.output, read_file(path));
  EXPECT_EQ(run_program(GetParam(), "-h --nonsense").output, ran.output);
}

TEST_P(Help, TellsTheRelease) {
  const Ran ran = run_program(GetParam(), "--version");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.output,
              ::testing::MatchesRegex(std::string(GetParam()) + " [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST_P(Help, RefusesUnknownOptionsWithTheNearestRightOne) {
  const Ran ran = run_program(GetParam(), "--jsom");
  EXPECT_EQ(ran.status, 64);
  EXPECT_EQ(ran.output,
            std::string(GetParam()) + ": unknown option --jsom; did you mean --json?\n");
}

TEST_P(Help, SaysThatTheGatewayIsAway) {
  const std::string name = GetParam();
  std::string words = "--timeout 0 --gateway /nonexistent/socket ";
  if (name == "gpusubmit") words += "-- true";
  if (name == "gpujob") words += "hold 17";
  if (name == "gpucancel" || name == "gpulogs") words += "17";
  if (name == "gpuadmin") words += "ping";
  const Ran ran = run_program(name, words);
  EXPECT_EQ(ran.status, 75) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr(name + ": "));
}

INSTANTIATE_TEST_SUITE_P(Each, Help, ::testing::ValuesIn(kPrograms),
                         [](const auto& each) { return std::string(each.param); });

struct Misuse {
  const char* program;
  const char* words;
  const char* message;
};

class BadCall : public ::testing::TestWithParam<Misuse> {};

TEST_P(BadCall, HasOneLineAndItsCode) {
  const Ran ran = run_program(GetParam().program, GetParam().words);
  EXPECT_EQ(ran.status, 64);
  EXPECT_EQ(ran.output, std::string(GetParam().message) + "\n");
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadCall,
    ::testing::Values(
        Misuse{"gpusubmit", "",
               "gpusubmit: no script or command; for example gpusubmit --gpus 1 train.sh, or "
               "gpusubmit -- nvidia-smi"},
        Misuse{"gpusubmit", "--",
               "gpusubmit: no script or command; for example gpusubmit --gpus 1 train.sh, or "
               "gpusubmit -- nvidia-smi"},
        Misuse{"gpusubmit", "/nonexistent.sh",
               "/nonexistent.sh: cannot open the script: No such file or directory; to run a "
               "program, type: "
               "gpusubmit -- PROGRAM"},
        Misuse{"gpusubmit", "/tmp", "/tmp: is a directory, not a script"},
        Misuse{"gpusubmit", "-", "standard input: the script is empty"},
        Misuse{"gpusubmit", "--gpus 0 -- true",
               "gpusubmit: --gpus: \"0\" is too small: the least is 1; for example --gpus 4"},
        Misuse{"gpusubmit", "--wait --dry-run -- true",
               "gpusubmit: --wait and --dry-run together; leave one out"},
        Misuse{"gpusubmit", "--chdir /nonexistent -- true",
               "gpusubmit: the directory /nonexistent cannot be entered: No such file or "
               "directory; choose another "
               "with --chdir"},
        Misuse{"gpusubmit", "--output /nonexistent/%j.out -- true",
               "gpusubmit: --output: the directory /nonexistent: No such file or directory; make "
               "it, or add --mkdir"},
        Misuse{"gpusubmit", "--error /etc/passwd/x -- true",
               "gpusubmit: --error: the directory /etc/passwd is no directory"},
        Misuse{"gpusubmit", "--request-id 7 -- true",
               "gpusubmit: --request-id: \"7\" is not a UUID; for example --request-id "
               "123e4567-e89b-42d3-a456-426614174000"},
        Misuse{"gpuqueue", "x", "gpuqueue: \"x\" is not a job such as 17, 17_3 or 17_[0-9]"},
        Misuse{"gpuqueue", "--state run",
               "gpuqueue: --state: \"run\" is not one of held pending starting running stopping "
               "ended"},
        Misuse{"gpuqueue", "--why", "gpuqueue: --why: needs a value; for example --why 17"},
        Misuse{"gpujob", "", "gpujob: what to do? One of hold, release, requeue, top, set"},
        Misuse{"gpujob", "holt 17", "gpujob: unknown verb \"holt\"; did you mean hold?"},
        Misuse{"gpujob", "hold",
               "gpujob: which jobs? Give their numbers, or --name, --user, --queue or --all"},
        Misuse{"gpujob", "set 17",
               "gpujob: set: nothing to change; for example gpujob set 17 time=30m"},
        Misuse{"gpujob", "set 17 tine=3", "gpujob: unknown setting \"tine\"; did you mean time?"},
        Misuse{
            "gpujob", "set 17 priority=many",
            "gpujob: priority: \"many\" is not a whole number (unexpected \"m\" at character 1)"},
        Misuse{"gpucancel", "",
               "gpucancel: which jobs? Give their numbers, or --name, --user, --queue or --all"},
        Misuse{"gpucancel", "--signal TERN 17",
               "gpucancel: --signal: \"TERN\" is not a signal such as TERM, USR1 or 10; did you "
               "mean TERM?"},
        Misuse{"gpulogs", "", "gpulogs: of which job? For example gpulogs 17"},
        Misuse{"gpulogs", "--rank 1 --node n1 17",
               "gpulogs: --rank and --node together; leave one out"},
        Misuse{"gpuinfo", "n[1",
               "gpuinfo: NODES: host list \"n[1\": a bracket is not closed"},
        Misuse{"gpuacct", "--since soon",
               "gpuacct: --since: \"soon\" is not a time such as 2026-11-30, 2026-11-30T18:07, "
               "today, yesterday, or "
               "7d (ago)"},
        Misuse{"gpuacct", "--since today --until yesterday",
               "gpuacct: --until is not after --since"},
        Misuse{"gpuadmin", "", "gpuadmin: what to do? gpuadmin --help lists the verbs"},
        Misuse{"gpuadmin", "node drein n1",
               "gpuadmin: unknown verb \"node drein\"; did you mean node drain?"},
        Misuse{"gpuadmin", "node drain n1",
               "gpuadmin: node drain: say why with --reason TEXT; it is shown to users and kept"},
        Misuse{"gpuadmin", "config check", "gpuadmin: config check: give one FILE"},
        Misuse{"gpuadmin", "db migrate",
               "gpuadmin: db migrate: give the controller's configuration with --config FILE"}));

}  // namespace
}  // namespace muster
