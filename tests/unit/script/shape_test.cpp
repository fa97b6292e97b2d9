// The rule from counts to groups: what comes out, and which contradictions are named.
#include "submit/script/shape.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

struct Case {
  const char* asked;  // "N2 T8": nodes, (T)asks, (t)asks per node, (C)PUs per task, (G)PUs, (g) per
                      // node, (p)er task.
  LaunchMode launch;
  const char* expected;  // "2x(t4 g4 c4)" for each group, "+" between them; or the error.
};

AskedCounts asked_of(const Case& it) {
  AskedCounts asked;
  asked.launch = it.launch;
  const std::string text = it.asked;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::uint64_t value = std::stoull(text.substr(at + 1, end - at - 1));
    switch (text[at]) {
      case 'N':
        asked.nodes = value;
        break;
      case 'T':
        asked.tasks = value;
        break;
      case 't':
        asked.tasks_per_node = value;
        break;
      case 'C':
        asked.cpus_per_task = value;
        break;
      case 'G':
        asked.gpus = value;
        break;
      case 'g':
        asked.gpus_per_node = value;
        break;
      default:
        asked.gpus_per_task = value;
        break;
    }
    at = end + 1;
  }
  return asked;
}

std::string outcome(const Case& it) {
  auto shape = resolve_shape(asked_of(it));
  if (!shape) return shape.error().message;
  std::string text;
  for (const Group& group : shape->groups) {
    if (!text.empty()) text += "+";
    text += std::to_string(group.nodes_min) + "x(t" + std::to_string(group.tasks_per_node) + " g" +
            std::to_string(group.gpus_per_node) + " c" + std::to_string(group.cpus_per_node) + ")";
  }
  return text;
}

class ShapeRule : public ::testing::TestWithParam<Case> {};
TEST_P(ShapeRule, Gives) {
  EXPECT_EQ(outcome(GetParam()), GetParam().expected) << GetParam().asked;
}

constexpr LaunchMode kScript = LaunchMode::kScript;
constexpr LaunchMode kTasks = LaunchMode::kTasks;
constexpr LaunchMode kTorchrun = LaunchMode::kTorchrun;

INSTANTIATE_TEST_SUITE_P(
    Fits, ShapeRule,
    ::testing::Values(
        Case{"", kScript, "1x(t1 g0 c1)"}, Case{"", kTasks, "1x(t1 g0 c1)"},
        Case{"N2 g4", kScript, "2x(t1 g4 c4)"}, Case{"N2 g4", kTasks, "2x(t4 g4 c4)"},
        Case{"N2 g4", kTorchrun, "2x(t4 g4 c4)"}, Case{"N2 G8", kTasks, "2x(t4 g4 c4)"},
        Case{"G8 g4", kTasks, "2x(t4 g4 c4)"}, Case{"G1", kScript, "1x(t1 g1 c1)"},
        Case{"T8 t4 C2", kTasks, "2x(t4 g0 c8)"},
        Case{"T5 t2", kTasks, "2x(t2 g0 c2)+1x(t1 g0 c1)"}, Case{"T1 t4", kTasks, "1x(t1 g0 c1)"},
        Case{"N2 T5 p1", kTasks, "1x(t3 g3 c3)+1x(t2 g2 c2)"},
        Case{"N2 t2 p2 C8", kTasks, "2x(t2 g4 c16)"}, Case{"g8 p2", kTasks, "1x(t4 g8 c8)"},
        Case{"N2 G8 p2", kTasks, "2x(t2 g4 c4)"}, Case{"G8 T8 p1 N2", kTasks, "2x(t4 g4 c4)"},
        Case{"p2", kScript, "1x(t1 g2 c2)"}, Case{"N2 g4 t1 C16", kTasks, "2x(t1 g4 c16)"},
        Case{"N3 T3", kTasks, "3x(t1 g0 c1)"}));

INSTANTIATE_TEST_SUITE_P(
    Refused, ShapeRule,
    ::testing::Values(
        Case{"N2 G3", kScript, "--gpus 3 does not divide over 2 nodes; say --gpus-per-node N"},
        Case{"G7 g4", kScript,
             "contradiction: --gpus 7 is no multiple of --gpus-per-node 4; leave one of them out"},
        Case{"N2 g4 G9", kScript,
             "contradiction: --gpus-per-node 4 on 2 nodes makes 8 GPUs, not --gpus 9; leave one of "
             "them out"},
        Case{"N3 T2", kTasks,
             "contradiction: --tasks 2 leaves some of the 3 nodes without a process; leave one of "
             "them out"},
        Case{"N2 T6 t4", kTasks,
             "contradiction: --tasks-per-node 4 on 2 nodes makes 8 tasks, not --tasks 6; leave one "
             "of them out"},
        Case{"g4 p3", kTasks,
             "contradiction: 4 GPUs on a node is no multiple of --gpus-per-task 3; leave one of "
             "them out"},
        Case{"N2 t2 p1 g4", kTasks,
             "contradiction: --gpus-per-task 1 for 4 tasks on 2 nodes does not make 4 GPUs a node; "
             "leave one of "
             "them out"},
        Case{"T4 p2 G4", kTasks,
             "contradiction: --gpus-per-task 2 for 4 tasks makes 8 GPUs, not --gpus 4; leave one "
             "of them out"},
        Case{"T5000", kTasks,
             "that is more than 4096 processes on a node; say --nodes N, or ask for fewer"},
        Case{"G1000000", kTasks,
             "that is more than 4096 processes on a node; say --nodes N, or ask for fewer"},
        Case{"G1000", kScript,
             "--gpus 1000 comes to 1000 GPUs on a node; at most 256 fit on a node: ask for more "
             "nodes with --nodes N"},
        Case{"N2 G1000", kTasks,
             "--gpus 1000 comes to 500 GPUs on a node; at most 256 fit on a node: ask for more "
             "nodes with --nodes N"},
        Case{"g300", kScript,
             "--gpus-per-node 300: at most 256 fit on a node: ask for more nodes with --nodes N"},
        Case{"t100 p3", kTasks,
             "--gpus-per-task 3 comes to 300 GPUs on a node; at most 256 fit on a node: ask for "
             "more nodes with --nodes N"},
        Case{"T10000000 t1", kTasks, "that is 10000000 nodes; the limit of a job is 100000"},
        Case{"t4096 C4096", kTasks, "the CPUs of a node come to more than 65536"}));

TEST(Shape, SharesSpareCpusAmongTasks) {
  AskedCounts asked;
  asked.gpus_per_node = 8;
  EXPECT_EQ(resolve_shape(asked)->cpus_per_task,
            8U);  // One process with eight GPUs and their CPUs.
  asked.launch = LaunchMode::kTasks;
  EXPECT_EQ(resolve_shape(asked)->cpus_per_task, 1U);
  asked.cpus_per_task = 3;
  EXPECT_EQ(resolve_shape(asked)->cpus_per_task, 3U);
}

}  // namespace
}  // namespace muster
