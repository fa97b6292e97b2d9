// From options to the job: who wins, defaults, warnings, refusals.
#include "submit/script/build_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submit/script/script_text.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

JobContext script_context() {
  JobContext context;
  context.script_name = "dir/train.sh";
  context.has_interpreter = true;
  context.cwd = "/home/kim";
  context.umask_bits = 027;
  return context;
}

Arguments line(const std::vector<std::string>& words) {
  WordRules rules;
  rules.origin = "gpusubmit";
  rules.options = job_options();
  rules.operands = Operands::kFirst;
  auto parsed = parse_words(words, rules);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return parsed.ok() ? parsed->options : Arguments{};
}

BuiltJob built(const Arguments& options, const JobContext& context) {
  auto job = build_job(options, context);
  EXPECT_TRUE(job.ok()) << job.error().message;
  return job.ok() ? *job : BuiltJob{};
}

std::string error_of(const std::vector<std::string>& words) {
  auto job = build_job(line(words), script_context());
  return job.ok() ? "" : job.error().message;
}

TEST(BuildJob, HasDefaults) {
  const BuiltJob job = built({}, script_context());
  EXPECT_EQ(job.spec.name, "train.sh");
  EXPECT_EQ(job.spec.queue, "");
  EXPECT_EQ(job.spec.time_limit, Duration{});
  EXPECT_EQ(job.spec.groups.size(), 1U);
  EXPECT_EQ(job.launch.script_name, "dir/train.sh");
  EXPECT_EQ(job.launch.cwd, "/home/kim");
  EXPECT_EQ(job.launch.umask_bits, 027U);
  EXPECT_EQ(job.launch.mode, LaunchMode::kScript);
  EXPECT_THAT(job.warnings, IsEmpty());
}

TEST(BuildJob, TakesEveryOption) {
  const BuiltJob job = built(line({"--name",
                                   "big run",
                                   "--queue",
                                   "q",
                                   "--account=acct",
                                   "--nodes",
                                   "2",
                                   "--gpus-per-node",
                                   "4",
                                   "--mem",
                                   "1.5G",
                                   "--time",
                                   "90",
                                   "--gpu-type",
                                   "H100,a100,h100",
                                   "--gpu-bind",
                                   "single",
                                   "--launch",
                                   "tasks",
                                   "--array",
                                   "0-9%2",
                                   "--output",
                                   "o-%j",
                                   "--error",
                                   "e-%j",
                                   "--open-mode",
                                   "append",
                                   "--mkdir",
                                   "--chdir",
                                   "run",
                                   "--hold",
                                   "--ports",
                                   "3",
                                   "--cpus-per-task",
                                   "8"}),
                             script_context());
  EXPECT_EQ(job.spec.name, "big run");
  EXPECT_EQ(job.spec.queue, "q");
  EXPECT_EQ(job.spec.account, "acct");
  EXPECT_EQ(job.spec.time_limit, minutes(90));
  EXPECT_TRUE(job.spec.hold);
  EXPECT_EQ(job.spec.ports, 3U);
  EXPECT_EQ(job.spec.array.running_max, 2U);
  const Group& group = job.spec.groups.at(0);
  EXPECT_EQ(group.memory_mib_per_node, 1536U);
  EXPECT_THAT(group.gpu_types, ElementsAre("h100", "a100"));
  EXPECT_EQ(group.cpus_per_node, 32U);
  EXPECT_EQ(job.launch.mode, LaunchMode::kTasks);
  EXPECT_EQ(job.launch.gpu_bind, GpuBind::kSingle);
  EXPECT_EQ(job.launch.open_mode, OpenMode::kAppend);
  EXPECT_TRUE(job.launch.make_directories);
  EXPECT_EQ(job.launch.cwd, "/home/kim/run");
  EXPECT_EQ(job.launch.output, "o-%j");
  EXPECT_EQ(job.launch.error, "e-%j");
  EXPECT_EQ(job.launch.cpus_per_task, 8U);
}

TEST(BuildJob, CommandLineBeatsScript) {
  Arguments options =
      parse_script("s", "#!/bin/sh\n#GPU --nodes 2 --time 1h --launch tasks\n")->options;
  options.add(line({"--nodes", "3"}));
  const BuiltJob job = built(options, script_context());
  EXPECT_EQ(job.spec.groups.at(0).nodes_min, 3U);
  EXPECT_EQ(job.spec.time_limit, hours(1));
}

TEST(BuildJob, TakesACommand) {
  JobContext context;
  context.is_command = true;
  context.argv = {"/usr/bin/env", "true"};
  context.cwd = "/";
  const BuiltJob job = built({}, context);
  EXPECT_EQ(job.spec.name, "env");
  EXPECT_TRUE(job.launch.is_command);
  EXPECT_THAT(job.launch.argv, ElementsAre("/usr/bin/env", "true"));
}

TEST(BuildJob, NamesAJobOfTorchrunAfterItsProgram) {
  JobContext context;
  context.is_command = true;
  context.argv = {"-r", "1", "dir/train.py", "--lr", "1"};
  context.cwd = "/";
  EXPECT_EQ(built(line({"--launch", "torchrun"}), context).spec.name, "train.py");
}

TEST(BuildJob, WarnsOfNodesWithoutAProcess) {
  EXPECT_THAT(
      built(line({"--nodes", "3"}), script_context()).warnings,
      ElementsAre(
          "gpusubmit: warning: --launch script starts one process, on the first node; the other 2 "
          "nodes get none: use --launch tasks or --launch torchrun, or start them from your "
          "script"));
  EXPECT_THAT(built(line({"--nodes", "3", "--launch", "tasks"}), script_context()).warnings,
              IsEmpty());
}

TEST(BuildJob, AsksForAnInterpreterUnlessTorchrunReadsTheScript) {
  JobContext context = script_context();
  context.has_interpreter = false;
  EXPECT_EQ(
      build_job({}, context).error().message,
      "dir/train.sh:1: no interpreter: the first line must begin with #!, for example #!/bin/bash");
  EXPECT_TRUE(build_job(line({"--launch", "torchrun"}), context).ok());
}

TEST(BuildJob, Refuses) {
  EXPECT_EQ(error_of({"--gpu-type", "h100"}), "gpusubmit: --gpu-type without GPUs: add --gpus N");
  EXPECT_EQ(error_of({"--gpu-bind", "none"}), "gpusubmit: --gpu-bind without GPUs: add --gpus N");
  EXPECT_EQ(error_of({"--nodes", "2", "--gpus", "3"}),
            "gpusubmit: --gpus 3 does not divide over 2 nodes; say --gpus-per-node N");
  JobContext context = script_context();
  context.argv = {std::string(kArgvBytesMax, 'x')};
  EXPECT_EQ(
      build_job({}, context).error().message,
      "gpusubmit: the arguments have 131073 bytes; the limit is 131072: put them into a file");
  context = script_context();
  context.script_name = "a\nb.sh";
  EXPECT_EQ(build_job({}, context).error().message,
            "gpusubmit: the job is named after its script, and the job name \"a\\nb.sh\" has "
            "characters that cannot "
            "be printed; give it one with --name");
}

}  // namespace
}  // namespace muster
