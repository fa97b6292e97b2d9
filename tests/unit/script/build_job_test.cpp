// From options to the job: who wins, defaults, warnings, refusals.
#include "submit/script/build_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submit/script/script_text.h"
#include "submit/script/value.h"

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

Group group_of(const std::vector<std::string>& words) {
  const BuiltJob job = built(line(words), script_context());
  EXPECT_EQ(job.spec.groups.size(), 1U);
  return job.spec.groups.empty() ? Group{} : job.spec.groups.front();
}

TEST(BuildJob, TakesGpusBySocket) {
  const Group group = group_of({"--gpus-per-socket", "2", "--sockets-per-node", "2"});
  EXPECT_EQ(group.gpus_per_node, 4U);
  EXPECT_EQ(group.gpus_per_socket, 2U);
  EXPECT_EQ(error_of({"--gpus-per-socket", "2"}),
            "gpusubmit: --gpus-per-socket 2: of how many? Add --sockets-per-node N");
  EXPECT_EQ(error_of({"--sockets-per-node", "2"}),
            "gpusubmit: --sockets-per-node 2 without --gpus-per-socket N");
  EXPECT_EQ(
      error_of({"--gpus-per-socket", "2", "--sockets-per-node", "2", "--gpus-per-node", "2"}),
      "gpusubmit: contradiction: --gpus-per-socket 2 on 2 sockets makes 4 GPUs on a node, not "
      "--gpus-per-node 2");
  EXPECT_EQ(error_of({"--gpus-per-socket", "200", "--sockets-per-node", "2"}),
            "gpusubmit: --gpus-per-socket and --sockets-per-node come to 400 GPUs on a node; at "
            "most 256");
  EXPECT_EQ(error_of({"--gpus-per-socket", "1", "--sockets-per-node", "1", "--gpus", "0.5"}),
            "gpusubmit: contradiction: --gpus-per-socket 1 and a share of a GPU");
}

TEST(BuildJob, TakesSharesOfAGpu) {
  Group group = group_of({"--gpus", "0.25"});
  EXPECT_EQ(group.gpus_per_node, 1U);
  EXPECT_EQ(group.gpu_milli, 250U);
  group =
      group_of({"--gpu-share", "500m", "--gpu-mem", "20G", "--nodes", "2", "--gpus-per-node", "1"});
  EXPECT_EQ(group.gpu_milli, 500U);
  EXPECT_EQ(group.gpu_memory_mib_min, 40U * 1024);  // Half of it is the job's.
  EXPECT_EQ(group.nodes_min, 2U);
  EXPECT_EQ(
      error_of({"--gpus", "2", "--gpu-share", "0.5"}),
      "gpusubmit: contradiction: --gpu-share 0.5 is a part of one GPU, and 2 are asked for on "
      "a node");
  EXPECT_EQ(error_of({"--gpus", "0.5", "--gpu-share", "0.5"}),
            "gpusubmit: contradiction: --gpus 0.5 and --gpu-share 0.5; leave one of them out");
  EXPECT_EQ(error_of({"--gpus", "0.5", "--exclusive"}),
            "gpusubmit: contradiction: --gpus 0.5 shares a GPU, and --exclusive shares nothing");
}

TEST(BuildJob, TakesMemoryInManyWays) {
  EXPECT_TRUE(group_of({"--mem", "0"}).memory_all);
  EXPECT_EQ(group_of({"--gpus", "4", "--mem-per-gpu", "2G"}).memory_mib_per_node, 8192U);
  EXPECT_EQ(group_of({"--cpus-per-task", "8", "--mem-per-cpu", "1G"}).memory_mib_per_node, 8192U);
  EXPECT_EQ(group_of({"--gpus", "0.5", "--mem-per-gpu", "2G"}).memory_mib_per_node, 1024U);
  EXPECT_EQ(error_of({"--mem", "1G", "--mem-per-cpu", "1G"}),
            "gpusubmit: contradiction: --mem 1G and --mem-per-cpu 1G; leave one of them out");
  EXPECT_EQ(error_of({"--mem-per-gpu", "1G"}),
            "gpusubmit: --mem-per-gpu without GPUs: add --gpus N");
  EXPECT_EQ(group_of({"--gpus", "4", "--cpus-per-gpu", "6"}).cpus_per_node, 24U);
  EXPECT_EQ(error_of({"--cpus-per-gpu", "6"}),
            "gpusubmit: --cpus-per-gpu without GPUs: add --gpus N");
  EXPECT_EQ(
      error_of({"--gpus", "1", "--tasks", "4", "--cpus-per-gpu", "2"}),
      "gpusubmit: contradiction: --cpus-per-gpu 2 makes 2 CPUs for 4 tasks on a node; leave one "
      "of them out");
}

TEST(BuildJob, TakesRangesAndNamesOfNodes) {
  Group group = group_of({"--nodes", "2-8", "--gpus-per-node", "4"});
  EXPECT_EQ(group.nodes_min, 2U);
  EXPECT_EQ(group.nodes_max, 8U);
  EXPECT_EQ(error_of({"--nodes", "2-8", "--gpus", "8"}),
            "gpusubmit: --nodes 2-8 leaves open how many of --gpus 8 each node has; say "
            "--gpus-per-node N");
  group = group_of({"--nodelist", "n[1-3],n2", "--exclude", "n9"});
  EXPECT_EQ(group.nodes_min, 3U);
  EXPECT_THAT(group.nodes_only, ElementsAre("n1", "n2", "n3"));
  EXPECT_THAT(group.nodes_excluded, ElementsAre("n9"));
  EXPECT_EQ(group_of({"--nodelist", "n[1-3]", "--nodes", "1"}).nodes_min, 1U);
  EXPECT_EQ(error_of({"--nodelist", "n[1-3]", "--nodes", "4"}),
            "gpusubmit: contradiction: --nodes 4, but --nodelist names 3");
  EXPECT_EQ(error_of({"--nodelist", "n1", "--exclude", "n[1-4]"}),
            "gpusubmit: contradiction: n1 is in --nodelist and in --exclude");
  EXPECT_TRUE(group_of({"--exclusive"}).exclusive);
}

TEST(BuildJob, TakesFeaturesAndCountsOfThem) {
  EXPECT_THAT(group_of({"--constraint", "ib&nvme"}).features, ElementsAre("ib", "nvme"));
  EXPECT_EQ(to_text(group_of({"--constraint", "ib&(a|b)"}).wish), "ib&(a|b)");
  const BuiltJob job =
      built(line({"--constraint", "ib&[a*2&b*3]", "--nodes", "6"}), script_context());
  ASSERT_EQ(job.spec.groups.size(), 3U);
  EXPECT_EQ(job.spec.groups[0].nodes_min, 2U);
  EXPECT_THAT(job.spec.groups[0].features, ElementsAre("ib", "a"));
  EXPECT_THAT(job.spec.groups[1].features, ElementsAre("ib", "b"));
  EXPECT_EQ(job.spec.groups[2].nodes_min, 1U);
  EXPECT_THAT(job.spec.groups[2].features, ElementsAre("ib"));
  EXPECT_EQ(error_of({"--constraint", "[a*2&b*3]", "--nodes", "4"}),
            "gpusubmit: contradiction: --constraint [a*2&b*3] asks for 5 nodes, and --nodes 4");
  EXPECT_EQ(error_of({"--constraint", "a*2", "--nodes", "2-4"}),
            "gpusubmit: --constraint a*2 counts nodes: say how many in all, not --nodes 2-4");
}

TEST(BuildJob, TakesGroupsWithOptionsOfTheirOwn) {
  const BuiltJob job = built(line({"--gpu-type", "h100", "--cpus-per-task", "4", "--group",
                                   "--nodes 1 --gpus 4", "--group",
                                   "--nodes 2 --gpus-per-node 1 "
                                   "--gpu-type a100"}),
                             script_context());
  ASSERT_EQ(job.spec.groups.size(), 2U);
  EXPECT_EQ(job.spec.groups[0].gpus_per_node, 4U);
  EXPECT_THAT(job.spec.groups[0].gpu_types, ElementsAre("h100"));
  EXPECT_EQ(job.spec.groups[1].nodes_min, 2U);
  EXPECT_EQ(job.spec.groups[1].cpus_per_node, 4U);
  EXPECT_THAT(job.spec.groups[1].gpu_types, ElementsAre("a100"));
  EXPECT_EQ(error_of({"--group", "--nodes 1", "--group", "--nodes 2 --gpus 3"}),
            "gpusubmit: --group 2: --gpus 3 does not divide over 2 nodes; say --gpus-per-node N");
  EXPECT_EQ(error_of({"--group", "--time 1h"}),
            "gpusubmit: --group 1: --time is of the whole job: put it beside --group, not into it");
  EXPECT_EQ(error_of({"--group", "--nodes '1"}), "gpusubmit: --group 1: the quote ' is not closed");
}

TEST(BuildJob, TakesLicencesAndTopology) {
  JobSpec spec = built(line({"--licences", "matlab:2,abaqus"}), script_context()).spec;
  EXPECT_THAT(spec.licences, ElementsAre(LicenceCount{"abaqus", 1}, LicenceCount{"matlab", 2}));
  const auto wish_of = [](const std::string& text) {
    return built(line({"--topology", text}), script_context()).spec.topology;
  };
  EXPECT_EQ(wish_of("switch!"), (TopologyWish{TopologyKind::kSwitch, 0, "", true}));
  EXPECT_EQ(wish_of("block"), (TopologyWish{TopologyKind::kBlock, 0, "", false}));
  EXPECT_EQ(wish_of("switches=2!"), (TopologyWish{TopologyKind::kSwitches, 2, "", true}));
  EXPECT_EQ(wish_of("segment=4"), (TopologyWish{TopologyKind::kSegments, 4, "", false}));
  EXPECT_EQ(wish_of("switch:leaf1!"), (TopologyWish{TopologyKind::kSwitch, 0, "leaf1", true}));
  EXPECT_EQ(wish_of("clique!"), TopologyWish{});
  EXPECT_TRUE(group_of({"--gpus", "2", "--topology", "clique!"}).one_clique);
  EXPECT_FALSE(group_of({"--gpus", "2", "--topology", "clique"}).one_clique);
  for (const char* wrong : {"rack", "any", "switch=2", "switches", "switches=0", "segment:4",
                            "clique=2", "switch:", "!", "switches:a"}) {
    EXPECT_FALSE(parse_topology(wrong).ok()) << wrong;
  }
  for (const char* wrong : {"", "a:0", "a:", ":2", "a,a:2", "a:x", "a b"})
    EXPECT_FALSE(parse_licences(wrong).ok()) << wrong;
  for (const char* wrong :
       {"0", "0.0", "1.5", "2", "m", "0m", "1001m", "-0.5", ".5", "0.0001", "0.x"})
    EXPECT_FALSE(parse_share(wrong).ok()) << wrong;
  for (const char* wrong : {"0-2", "3-2", "-", "1-", "1-2-3", "a"})
    EXPECT_FALSE(parse_range(wrong, 100).ok()) << wrong;
}

}  // namespace
}  // namespace muster
