// Job scripts: what directives mean, and what a person reads when one is wrong.
#include "submit/script/script_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/types/job_spec.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ScriptText good(const std::string& text) {
  auto script = parse_script("train.sh", text);
  EXPECT_TRUE(script.ok()) << script.error().message;
  return script.ok() ? *script : ScriptText{};
}

std::string error_of(const std::string& text) {
  auto script = parse_script("train.sh", text);
  return script.ok() ? "" : script.error().message;
}

TEST(ScriptText, TakesSeveralOptionsOfALine) {
  const ScriptText script = good(
      "#!/bin/bash\n"
      "# a comment\n"
      "\n"
      "#GPU --nodes 2 --gpus-per-node=4 --time 2h  # trailing words\n"
      "#GPU\t--name 'my run' --output \"logs/%x \\\"1\\\".out\" --chdir /a\\ b\n"
      "#GPU --hold\n"
      "#GPU\n"
      "##GPU --nodes 9\n"
      "echo hello\n");
  EXPECT_TRUE(script.has_interpreter);
  EXPECT_EQ(script.options.text("nodes"), "2");
  EXPECT_EQ(script.options.text("gpus-per-node"), "4");
  EXPECT_EQ(script.options.text("name"), "my run");
  EXPECT_EQ(script.options.text("output"), "logs/%x \"1\".out");
  EXPECT_EQ(script.options.text("chdir"), "/a b");
  EXPECT_TRUE(script.options.has("hold"));
  EXPECT_EQ(script.options.find("time")->origin, "train.sh:4");
  EXPECT_THAT(script.warnings, IsEmpty());
}

TEST(ScriptText, TheLastOfTwoWinsAndEnvRepeats) {
  const ScriptText script =
      good("#!/bin/sh\n#GPU --nodes 2 --env A=1\n#GPU --nodes 3 --env 'B=x y#z'\ntrue\n");
  EXPECT_EQ(script.options.text("nodes"), "3");
  EXPECT_THAT(script.options.all("env"), ElementsAre("A=1", "B=x y#z"));
}

TEST(ScriptText, IgnoresDirectivesBelowTheFirstCommandWithAWarning) {
  const ScriptText script = good("#!/bin/sh\n#GPU --nodes 2\ntrue\n#GPU --nodes 9 --nonsense\n");
  EXPECT_EQ(script.options.text("nodes"), "2");
  EXPECT_THAT(script.warnings,
              ElementsAre("train.sh:4: this #GPU line is ignored: it stands below the first "
                          "command; move it to the top"));
}

TEST(ScriptText, WarnsOfNearMisses) {
  const ScriptText script = good(
      "#!/bin/sh\n# GPU --nodes 2\n#gpu --nodes 2\n#GPU--nodes 2\n#SBATCH -N 2\n#SBATCH -n 2\n# "
      "GPUs "
      "are nice\n  #GPU --nodes 2\n");
  ASSERT_EQ(script.warnings.size(), 5U);
  EXPECT_THAT(script.warnings[0], HasSubstr("train.sh:2: this line is a comment"));
  EXPECT_EQ(script.warnings[3], "train.sh:5: #SBATCH lines are not read; write #GPU lines");
  EXPECT_THAT(script.warnings[4], HasSubstr("train.sh:8"));
  EXPECT_FALSE(script.options.has("nodes"));
}

TEST(ScriptText, TakesAScriptWithoutInterpreterOrLastNewline) {
  const ScriptText script = good("#GPU --launch torchrun\nimport torch");
  EXPECT_FALSE(script.has_interpreter);
  EXPECT_EQ(script.options.text("launch"), "torchrun");
  EXPECT_TRUE(good("#! /bin/bash -l").has_interpreter);
}

TEST(ScriptText, RefusesBytesThatAreNoScript) {
  EXPECT_EQ(error_of(""), "train.sh: the script is empty");
  EXPECT_EQ(error_of("#!/bin/sh\r\ntrue\r\n"),
            "train.sh:1: the line ends in CR LF (Windows): convert the file, for example with: sed "
            "-i 's/\\r$//' train.sh");
  EXPECT_EQ(error_of("#!/bin/sh\n#GPU --nodes 2\r\ntrue\n").substr(0, 37),
            "train.sh:2: the line ends in CR LF (W");
  EXPECT_EQ(
      error_of(std::string("#!/bin/sh\ntrue\n\0\n", 17)),
      "train.sh:3: a NUL byte: this is no text file; run a program with: gpusubmit -- PROGRAM");
  EXPECT_EQ(error_of("\xEF\xBB\xBF#!/bin/sh\n"),
            "train.sh:1: a byte order mark stands before the first line: save the file without it");
  std::string large = "#!/bin/sh\n";
  large.resize(kScriptBytesMax, ' ');
  EXPECT_EQ(error_of(large), "");
  large += ' ';
  EXPECT_EQ(error_of(large),
            "train.sh: the script is larger than 1 MiB: keep data in files of its own");
  EXPECT_EQ(parse_script("x", large).error().code, ErrorCode::kLimit);
}

TEST(ScriptText, RefusesInterpretersThatCannotRun) {
  EXPECT_EQ(error_of("#!bash\ntrue\n"),
            "train.sh:1: the interpreter \"bash\" is no absolute path: write #!/bin/bash, or "
            "#!/usr/bin/env NAME");
  EXPECT_EQ(error_of("#!\ntrue\n").substr(0, 33), "train.sh:1: the interpreter \"\" is");
  EXPECT_EQ(error_of("#!/" + std::string(300, 'x') + "\n"),
            "train.sh:1: the interpreter line is longer than 255 bytes");
}

struct Bad {
  const char* line;
  const char* message;
};

class BadDirective : public ::testing::TestWithParam<Bad> {};

TEST_P(BadDirective, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(std::string("#!/bin/sh\n\n#GPU ") + GetParam().line + "\ntrue\n"),
            std::string("train.sh:3: ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Each, BadDirective,
    ::testing::Values(
        Bad{"--node 2", "unknown option --node; did you mean --nodes?"},
        Bad{"--gpu-per-node 2", "unknown option --gpu-per-node; did you mean --gpus-per-node?"},
        Bad{"--zzzzzzzz", "unknown option --zzzzzzzz; --help lists all"},
        Bad{"-N 2", "unknown option -N; --help lists all"},
        Bad{"nodes 2",
            "unexpected \"nodes\": options begin with --, as in --nodes 2; put values with spaces "
            "in quotes"},
        Bad{"--name a b",
            "unexpected \"b\": options begin with --, as in --nodes 2; put values with spaces in "
            "quotes"},
        Bad{"-- x",
            "unexpected \"--\": options begin with --, as in --nodes 2; put values with spaces in "
            "quotes"},
        Bad{"--nodes", "--nodes: needs a value; for example --nodes 2"},
        Bad{"--nodes --hold", "--nodes: needs a value; for example --nodes 2"},
        Bad{"--hold=yes", "--hold takes no value"},
        Bad{"--nodes 0", "--nodes: \"0\" is too small: the least is 1; for example --nodes 2"},
        Bad{"--nodes -1",
            "--nodes: \"-1\" is negative: expected a whole number; for example --nodes 2"},
        Bad{"--nodes 2x",
            "--nodes: \"2x\" is not a whole number (unexpected \"x\" at character 2); for example "
            "--nodes 2"},
        Bad{"--nodes 99999999999999999999",
            "--nodes: \"99999999999999999999\" is too large: the limit is 100000; for example "
            "--nodes 2"},
        Bad{"--nodes=", "--nodes: empty: expected a whole number; for example --nodes 2"},
        Bad{"--gpus h100:4",
            "--gpus: \"h100:4\" is not a whole number (unexpected \"h\" at character 1); for "
            "example --gpus 4"},
        Bad{"--gpus 1000001",
            "--gpus: \"1000001\" is too large: the limit is 1000000; for example --gpus 4"},
        Bad{"--mem 0M",
            "--mem: \"0M\" is zero: expected a memory size such as 512M, 16G or 1.5T; for example "
            "--mem 64G"},
        Bad{"--mem -5G",
            "--mem: \"-5G\" is negative: expected a memory size such as 512M, 16G or 1.5T; for "
            "example --mem 64G"},
        Bad{"--mem 9999999999T",
            "--mem: \"9999999999T\" is too large: the limit is 1048576T; for example --mem 64G"},
        Bad{"--time 0",
            "--time: \"0\" is zero: expected a time such as 90s, 30m, 2h, 1d12h, HH:MM:SS or "
            "D-HH:MM; "
            "for example --time 2h"},
        Bad{"--time 2hours",
            "--time: \"2hours\" is not a time such as 90s, 30m, 2h, 1d12h, HH:MM:SS or D-HH:MM; "
            "for example --time 2h"},
        Bad{"--time 99999d",
            "--time: \"99999d\" is too long: the limit is 3650 days; for example --time 2h"},
        Bad{"--launch mpi",
            "--launch: \"mpi\" is not one of script tasks torchrun; for example --launch tasks"},
        Bad{"--launch torchrum",
            "--launch: \"torchrum\" is not one of script tasks torchrun; did you mean torchrun?; "
            "for example "
            "--launch tasks"},
        Bad{"--queue a/b",
            "--queue: the name \"a/b\" has a character that is not allowed at 2: use letters, "
            "digits, "
            "'.', '_' and '-'; for example --queue batch"},
        Bad{"--name \"a\tb\"",
            "--name: the job name \"a\\tb\" has characters that cannot be printed; for example "
            "--name train"},
        Bad{"--output x%q",
            "--output: \"x%q\" has \"%q\" at character 2: known are %j %A %a %x %u %N %n %t %r, "
            "and "
            "%% for a percent sign; for example --output logs/%x-%j.out"},
        Bad{"--output x%",
            "--output: \"x%\" has \"%\" at character 2: known are %j %A %a %x %u %N %n %t %r, and "
            "%% "
            "for a percent sign; for example --output logs/%x-%j.out"},
        Bad{"--array 5-1", "--array: \"5-1\": runs backwards; for example --array 0-99%8"},
        Bad{"--env 1A=2", "--env: \"1A=2\" is not NAME=VALUE; for example --env SEED=7"},
        Bad{"--export A-B",
            "--export: \"A-B\" is not ALL, NONE, NAME or NAME=VALUE; for example --export "
            "HOME,PATH,SEED=7"},
        Bad{"--name 'open", "the quote ' is not closed"},
        Bad{"--name \"open", "the quote \" is not closed"},
        Bad{"--name x\\", "a \\ stands at the end of the line"},
        Bad{"--wait", "--wait belongs on the command line of gpusubmit, not into the script"},
        Bad{"--request-id 123e4567-e89b-42d3-a456-426614174000",
            "--request-id belongs on the command line of gpusubmit, not into the script"}));

TEST(ScriptText, RefusesLongNames) {
  EXPECT_THAT(error_of("#!/bin/sh\n#GPU --name " + std::string(129, 'a') + "\n"),
              HasSubstr("the job name has 129 bytes; the limit is 128"));
}

}  // namespace
}  // namespace muster
