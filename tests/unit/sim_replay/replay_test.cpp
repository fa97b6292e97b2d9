// Four jobs on four GPUs, whose figures a person can check, under each policy.
#include "controller/sim/replay/replay.h"

#include "tests/unit/sim_replay/trace_text.h"

namespace muster {
namespace {

ReplayRequest request_for(const TraceText& file, ReplayPolicy policy) {
  ReplayRequest request;
  request.file = file.path();
  request.window = {{}, days(1), 64};
  request.nodes = {1, 4};
  request.policy = policy;
  return request;
}

void expect_figures(const ReplayRequest& request, double mean_wait, double max_wait,
                    double mean_completion) {
  const auto replay = replay_trace(request);
  ASSERT_TRUE(replay.ok()) << replay.error().message;
  const ReplayFigures* figures = &replay->figures;
  EXPECT_EQ(figures->jobs, 4U);
  EXPECT_DOUBLE_EQ(figures->mean_wait_s, mean_wait);
  EXPECT_DOUBLE_EQ(figures->max_wait_s, max_wait);
  EXPECT_DOUBLE_EQ(figures->p95_wait_s, max_wait);  // Of four jobs.
  EXPECT_DOUBLE_EQ(figures->mean_completion_s, mean_completion);
  EXPECT_DOUBLE_EQ(figures->utilisation, 760.0 / (4 * 86400));
  EXPECT_DOUBLE_EQ(figures->wide_p95_wait_s, 0);
}

// 0-100, 100-150, 150-210, 150-350.
TEST(Replay, FifoLetsNobodyPass) {
  const TraceText file(kFourJobs);
  expect_figures(request_for(file, ReplayPolicy::kFifo), 85, 130, 187.5);
}

// 0-100, 100-150, 20-80, 150-350: the last would hold a GPU past 100.
TEST(Replay, EasyLetsPassWhatEndsInTime) {
  const TraceText file(kFourJobs);
  expect_figures(request_for(file, ReplayPolicy::kEasy), 52.5, 120, 155);
}

// 0-100, 280-330, 20-80, 80-280: the wide one is not waited for.
TEST(Replay, SjfOracleTakesWhatFits) {
  const TraceText file(kFourJobs);
  expect_figures(request_for(file, ReplayPolicy::kSjfOracle), 80, 270, 182.5);
}

TEST(Replay, MusterWithTrueLimitsPlansTheWideOne) {
  const TraceText file(kFourJobs);
  ReplayRequest request = request_for(file, ReplayPolicy::kMuster);
  request.engine.limits = ReplayLimits::kTrue;
  expect_figures(request, 52.5, 120, 155);
}

// Nobody knows that the third job ends in time.
TEST(Replay, MusterWithoutLimitsKeepsTheOrder) {
  const TraceText file(kFourJobs);
  expect_figures(request_for(file, ReplayPolicy::kMuster), 85, 130, 187.5);
}

// 0-3600 and 3700-20160 with a minute that the stop cost it; 3600-3700.
TEST(Replay, MusterStopsWhoHasHadMuch) {
  const TraceText file(std::string(kPhillyHeader) +
                       "2017-10-09 00:00:00,20000,4,1,a\n"
                       "2017-10-09 01:00:00,100,4,1,b\n");
  ReplayRequest request = request_for(file, ReplayPolicy::kMuster);
  request.engine.queue = sharing_queue();
  request.engine.stop_cost = minutes(1);
  request.charted = true;
  const auto replay = replay_trace(request);
  ASSERT_TRUE(replay.ok()) << replay.error().message;
  EXPECT_EQ(replay->figures.stops, 1U);
  EXPECT_DOUBLE_EQ(replay->figures.mean_wait_s, 80);
  EXPECT_DOUBLE_EQ(replay->figures.max_wait_s, 160);
  EXPECT_DOUBLE_EQ(replay->figures.mean_completion_s, 10130);
  EXPECT_DOUBLE_EQ(replay->figures.utilisation, 20160.0 / 86400);
  EXPECT_GT(replay->series.jobs_waiting[3600 * kChartPoints / 86400], 0);
}

// User a's jobs have run for 10 seconds but for one that runs still, b's for an hour; of those that
// wait, a's come first.
TEST(Replay, MusterLearnsWhoseJobsAreShort) {
  const TraceText file(std::string(kPhillyHeader) +
                       "2017-10-09 00:00:00,3600,4,1,b\n"
                       "2017-10-09 01:00:00,10,4,1,a\n"
                       "2017-10-09 01:00:10,10,4,1,a\n"
                       "2017-10-09 01:00:20,10,4,1,a\n"
                       "2017-10-09 01:00:30,10,4,1,a\n"
                       "2017-10-09 01:10:00,1000,4,1,a\n"
                       "2017-10-09 01:10:01,3600,4,1,b\n"
                       "2017-10-09 01:10:02,10,4,1,a\n");
  ReplayRequest request = request_for(file, ReplayPolicy::kMuster);
  const auto in_order = replay_trace(request);
  request.engine.queue = learning_queue();
  const auto learned = replay_trace(request);
  ASSERT_TRUE(in_order.ok() && learned.ok());
  EXPECT_DOUBLE_EQ(in_order->figures.max_wait_s, 4598);  // The last one, behind b's.
  EXPECT_DOUBLE_EQ(learned->figures.max_wait_s, 1009);   // b's, behind the last one.
}

TEST(Replay, WideJobsTakeWholeNodes) {
  const TraceText file(std::string(kPhillyHeader) +
                       "2017-10-09 00:00:00,100,1,1,a\n"
                       "2017-10-09 00:00:00,50,17,1,a\n"
                       "2017-10-09 00:00:01,10,8,1,a\n");
  for (const ReplayPolicy policy : {ReplayPolicy::kFifo, ReplayPolicy::kMuster}) {
    ReplayRequest request = request_for(file, policy);
    request.nodes = {3, 8};
    const auto figures = replay_trace(request);
    ASSERT_TRUE(figures.ok()) << figures.error().message;
    EXPECT_DOUBLE_EQ(figures->figures.wide_p95_wait_s, 100) << name_of(policy);
    EXPECT_DOUBLE_EQ(figures->figures.max_wait_s, 149);
  }
}

TEST(Replay, RefusesJobsThatCanNeverRun) {
  const TraceText file(kFourJobs);
  ReplayRequest request = request_for(file, ReplayPolicy::kMuster);
  request.nodes = {1, 2};
  const auto figures = replay_trace(request);
  ASSERT_FALSE(figures.ok());
  EXPECT_NE(figures.error().message.find("3 GPUs"), std::string::npos);
}

}  // namespace
}  // namespace muster
