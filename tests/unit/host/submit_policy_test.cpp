// What a submit policy is told, what its answers do, and which of them are none.
#include "controller/host/submit_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SubmitBody body_of(std::size_t jobs) {
  SubmitBody body;
  body.jobs.resize(jobs);
  for (SubmitJob& job : body.jobs) {
    job.spec.name = "train";
    job.spec.groups.resize(1);
    job.spec.groups[0].gpus_per_node = 4;
  }
  return body;
}

// The problem; the body stays as it was only in the caller's hands, so it is not looked at.
Error problem_of(const std::string& answer, std::size_t jobs = 1) {
  SubmitBody body = body_of(jobs);
  const auto applied = apply_policy(answer, body);
  return applied ? Error{ErrorCode::kNotFound, "applied"} : applied.error();
}

TEST(SubmitPolicy, TellsWhoAsksForWhat) {
  SubmitBody body = body_of(2);
  body.dry_run = true;
  body.jobs[1].launch.argv = {"python", "\"\n\xff"};
  const Requester who{Uid{1003}, Gid{1003}, "kim", Role::kUser, "login1"};
  const auto asked = nlohmann::json::parse(policy_question(who, {"kim", "vision"}, body));
  EXPECT_EQ(asked["user"], "kim");
  EXPECT_EQ(asked["uid"], 1003);
  EXPECT_EQ(asked["groups"].size(), 2U);
  EXPECT_EQ(asked["dry_run"], true);
  EXPECT_EQ(asked["jobs"].size(), 2U);
  EXPECT_EQ(asked["jobs"][0]["spec"]["account"], "");
  EXPECT_EQ(asked["jobs"][0]["spec"]["groups"][0]["gpus_per_node"], 4);
  EXPECT_EQ(asked["jobs"][1]["command"][0], "python");
}

TEST(SubmitPolicy, SetsWhatItMay) {
  SubmitBody body = body_of(1);
  const auto notes =
      apply_policy(R"({"jobs":[{"name":"n","queue":"q","account":"a","qos":"high","time_limit":90,)"
                   R"("priority":-5,"hold":true,"requeue":false,)"
                   R"("groups":[{"gpu_types":["h100","a100"],"features":["ib"],)"
                   R"("nodes_excluded":["n1"]}]}]})",
                   body);
  ASSERT_TRUE(notes) << notes.error().message;
  const JobSpec& spec = body.jobs[0].spec;
  EXPECT_EQ(spec.name, "n");
  EXPECT_EQ(spec.queue, "q");
  EXPECT_EQ(spec.account, "a");
  EXPECT_EQ(spec.qos, "high");
  EXPECT_EQ(spec.time_limit, seconds(90));
  EXPECT_EQ(spec.priority, -5);
  EXPECT_TRUE(spec.hold);
  EXPECT_FALSE(spec.requeue);
  EXPECT_THAT(spec.groups[0].gpu_types, ElementsAre("h100", "a100"));
  EXPECT_THAT(spec.groups[0].features, ElementsAre("ib"));
  EXPECT_THAT(spec.groups[0].nodes_excluded, ElementsAre("n1"));
  EXPECT_EQ(notes->size(), 11U);
  EXPECT_THAT(notes->front(), "the site's policy set account to a");
}

TEST(SubmitPolicy, CountsEditsOfABatchAndLeavesOutWhatIsSo) {
  SubmitBody body = body_of(3);
  const auto notes =
      apply_policy(R"({"jobs":[{"account":"a"},{},{"account":"a","name":"train"}]})", body);
  ASSERT_TRUE(notes);
  EXPECT_THAT(*notes, ElementsAre("the site's policy set account to a for 2 of the jobs"));
  EXPECT_EQ(body.jobs[1].spec.account, "");
}

TEST(SubmitPolicy, BoundsTheNotes) {
  SubmitBody body = body_of(100);
  nlohmann::json answer;
  for (int i = 0; i < 100; ++i) answer["jobs"].push_back({{"name", "n" + std::to_string(i)}});
  const auto notes = apply_policy(answer.dump(), body);
  ASSERT_TRUE(notes);
  EXPECT_EQ(notes->size(), kEditNotesMax + 1);
  EXPECT_THAT(notes->back(), "the site's policy made 80 other kinds of edits");
}

TEST(SubmitPolicy, PassesWithoutEdits) {
  SubmitBody body = body_of(1);
  const auto notes = apply_policy("{}", body);
  ASSERT_TRUE(notes);
  EXPECT_TRUE(notes->empty());
}

TEST(SubmitPolicy, RefusesWithTheSitesLine) {
  const Error refused = problem_of(R"({"refuse":"too many\u001b[31m GPUs"})");
  EXPECT_EQ(refused.code, ErrorCode::kConflict);
  EXPECT_THAT(refused.message, HasSubstr("submit: too many"));
  EXPECT_EQ(refused.message.find('\x1b'), std::string::npos);
}

TEST(SubmitPolicy, TakesNoNonsense) {
  const std::string deep(100000, '[');
  const std::string bytes = "{\"jobs\":[{\"name\":\"\xff\"}]}";
  const std::vector<std::string> answers{
      "",
      "garbage",
      "[]",
      "null",
      "{",
      deep,
      "{\"jobs\":" + deep,
      bytes,
      R"({} {})",
      R"({"job":[]})",
      R"({"jobs":{}})",
      R"({"jobs":[]})",
      R"({"jobs":[{},{}]})",
      R"({"jobs":[[]]})",
      R"({"jobs":[{"user":"root"}]})",
      R"({"jobs":[{"account":7}]})",
      R"({"jobs":[{"time_limit":0}]})",
      R"({"jobs":[{"time_limit":-1}]})",
      R"({"jobs":[{"time_limit":1.5}]})",
      R"({"jobs":[{"time_limit":18446744073709551615}]})",
      R"({"jobs":[{"priority":1e99}]})",
      R"({"jobs":[{"priority":9999999}]})",
      R"({"jobs":[{"hold":"yes"}]})",
      R"({"jobs":[{"groups":[]}]})",
      R"({"jobs":[{"groups":[{"gpus_per_node":8}]}]})",
      R"({"jobs":[{"groups":[7]}]})",
      R"({"jobs":[{"groups":[{"features":"ib"}]}]})",
      R"({"jobs":[{"groups":[{"features":[1]}]}]})",
      R"({"refuse":""})",
      R"({"refuse":7})",
      R"({"refuse":"two\nlines"})",
      R"({"refuse":")" + std::string(501, 'x') + "\"}",
      R"({"jobs":[{"name":")" + std::string(5000, 'x') + "\"}]}"};
  for (const std::string& answer : answers) {
    EXPECT_EQ(problem_of(answer).code, ErrorCode::kInvalid) << answer.substr(0, 80);
  }
}

}  // namespace
}  // namespace muster
