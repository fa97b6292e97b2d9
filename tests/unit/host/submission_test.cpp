// What a submit request may carry.
#include "controller/host/submission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

using testing::HasSubstr;

SubmitBody good() {
  SubmitBody body;
  body.scripts = {"#!/bin/sh\ntrue\n"};
  body.environments = {std::string("A=1\0", 4)};
  SubmitJob job;
  job.launch.cwd = "/tmp";
  job.script = 1;
  job.environment = 1;
  body.jobs = {job};
  return body;
}

std::string problem(const SubmitBody& body) {
  const auto checked = check_submission(body);
  return checked ? "" : checked.error().message;
}

TEST(Submission, TakesAGoodOne) { EXPECT_EQ(problem(good()), ""); }

TEST(Submission, RefusesBadScripts) {
  SubmitBody body = good();
  body.scripts[0] = "";
  EXPECT_THAT(problem(body), HasSubstr("script is empty"));
  body.scripts[0] = std::string("a\0b", 3);
  EXPECT_THAT(problem(body), HasSubstr("NUL"));
  body.scripts[0].assign(kScriptBytesMax + 1, 'x');
  EXPECT_THAT(problem(body), HasSubstr("1 MiB"));
}

TEST(Submission, RefusesBadLaunches) {
  SubmitBody body = good();
  body.jobs[0].launch.cwd = "tmp";
  EXPECT_THAT(problem(body), HasSubstr("absolute path"));
  body = good();
  body.jobs[0].launch.output = "x-%q";
  EXPECT_THAT(problem(body), HasSubstr("unknown pattern"));
  body = good();
  body.jobs[0].script = 2;
  EXPECT_THAT(problem(body), HasSubstr("does not hold"));
  body = good();
  body.jobs[0].script = 0;
  EXPECT_THAT(problem(body), HasSubstr("no script and no command"));
}

TEST(Submission, NamesTheJobOfABulk) {
  SubmitBody body = good();
  body.jobs.push_back(body.jobs[0]);
  body.jobs[1].launch.umask_bits = 010000;
  EXPECT_THAT(problem(body), HasSubstr("job 2 of the request"));
}

TEST(Submission, BoundsEnvironments) {
  SubmitBody body = good();
  body.environments[0] = "A=1";
  EXPECT_THAT(problem(body), HasSubstr("not terminated"));
  body.environments[0].assign(kEnvironmentBytesMax + 1, '\0');
  EXPECT_THAT(problem(body), HasSubstr("256 KiB"));
}

}  // namespace
}  // namespace muster
