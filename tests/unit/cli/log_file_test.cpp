// Where the output of a job lies: the same path its node made.
#include "submit/cli/log_file.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

JobReply gang() {
  JobReply job;
  job.row.job = JobId{17};
  job.row.user = "kim";
  job.row.node_list = "n[1-2],m7";
  job.row.attempt = AttemptNo{2};
  job.spec.name = "a/b";
  Group wide;
  wide.nodes_min = wide.nodes_max = 1;
  wide.tasks_per_node = 3;
  Group rest;
  rest.nodes_min = rest.nodes_max = 2;
  rest.tasks_per_node = 2;
  job.spec.groups = {wide, rest};
  job.launch.cwd = "/home/kim";
  return job;
}

std::string path_of(const JobReply& job, const LogOpenBody& place) {
  auto path = log_file_path(job, place);
  return path.ok() ? *path : "error: " + path.error().message;
}

TEST(LogFile, HasADefault) {
  JobReply job = gang();
  EXPECT_EQ(path_of(job, {}), "/home/kim/muster-17.out");
  job.row.is_array = true;
  job.row.element = Element{4};
  EXPECT_EQ(path_of(job, {}), "/home/kim/muster-17_4.out");
}

TEST(LogFile, ExpandsEveryLetter) {
  JobReply job = gang();
  job.launch.output = "/logs/%j-%A-%a-%x-%u-%N-%n-%t-%r-%%.out";
  LogOpenBody place;
  place.rank = 4;
  EXPECT_EQ(path_of(job, place), "/logs/17-17-0-a_b-kim-n2-1-4-2-%.out");
  place.rank = 6;
  place.attempt = 1;
  EXPECT_EQ(path_of(job, place), "/logs/17-17-0-a_b-kim-m7-2-6-1-%.out");
  place = {};
  place.node = "m7";
  EXPECT_EQ(path_of(job, place), "/logs/17-17-0-a_b-kim-m7-2-5-2-%.out");
}

TEST(LogFile, SaysWhenThereIsNone) {
  JobReply job = gang();
  LogOpenBody place;
  place.rank = 7;
  EXPECT_EQ(path_of(job, place), "error: there is no rank 7");
  place.rank = 3;
  EXPECT_EQ(path_of(job, place),
            "error: without %N, %n or %t in --output only the first node writes a file");
  place = {};
  place.node = "n9";
  EXPECT_EQ(path_of(job, place), "error: it did not run on n9");
  place = {};
  place.errors = true;
  EXPECT_EQ(path_of(job, place), "error: standard error goes where output goes; leave --error out");
  job.row.node_list = "";
  EXPECT_EQ(path_of(job, {}), "error: it never ran");
  job.launch.cwd = "";
  EXPECT_EQ(path_of(job, {}), "error: it is not your job");
}

}  // namespace
}  // namespace muster
