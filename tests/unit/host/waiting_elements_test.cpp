// Waiting elements among the rows of the database.
#include "controller/host/waiting_elements.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

// Nothing of it has been started.
std::shared_ptr<const JobView> array_of(std::uint64_t id, const std::string& user,
                                        std::uint32_t last) {
  auto facts = std::make_shared<JobFacts>();
  auto owner = std::make_shared<JobOwner>();
  owner->user = user;
  auto terms = std::make_shared<JobTerms>();
  terms->queue = "batch";
  if (last != 0) terms->array.ranges = {{0, last, 1}};
  facts->id = JobId{id};
  facts->owner = owner;
  facts->terms = terms;
  facts->name = "sweep";
  return std::make_shared<const JobView>(Job(facts, ElementState::kPending));
}

AccountingRow row_of(std::uint64_t job, std::uint32_t element, std::uint32_t attempts) {
  AccountingRow row;
  row.job = JobId{job};
  row.element = Element{element};
  row.is_array = true;
  row.attempts = attempts;
  row.state = attempts == 0 ? "pending" : "active";
  return row;
}

std::string text_of(const std::vector<AccountingRow>& rows) {
  std::string text;
  for (const AccountingRow& row : rows) {
    text += std::to_string(row.job.value) + "_" +
            (row.elements.empty() ? std::to_string(row.element.value) : row.elements) + " ";
  }
  return text;
}

class WaitingElements : public ::testing::Test {
 protected:
  WaitingElements() {
    state_.jobs.set(17, array_of(17, "kim", 99));
    state_.jobs.set(18, array_of(18, "lee", 0));
    state_.jobs.set(19, array_of(19, "kim", 4));
  }
  std::string with(const AccountingFilter& filter, std::vector<AccountingRow> rows) {
    add_waiting_elements(state_, filter, rows);
    return text_of(rows);
  }
  ViewState state_;
};

TEST_F(WaitingElements, TakeTheirPlaceByJobAndElement) {
  EXPECT_EQ(with({}, {row_of(19, 7, 1), row_of(17, 0, 0)}), "19_0-4 19_7 17_0-99 ");
}

TEST_F(WaitingElements, KeepRowsOfJobsThatWeNoLongerHold) {
  EXPECT_EQ(with({}, {row_of(3, 0, 0)}), "19_0-4 17_0-99 3_0 ");
}

TEST_F(WaitingElements, PassTheFilter) {
  AccountingFilter filter;
  filter.jobs = {JobId{17}};
  EXPECT_EQ(with(filter, {}), "17_0-99 ");
  filter.users = {"lee"};
  EXPECT_EQ(with(filter, {}), "");
  filter = {};
  filter.states = {"ended"};
  EXPECT_EQ(with(filter, {}), "");
  filter.states = {"active", "pending"};
  filter.limit = 1;
  EXPECT_EQ(with(filter, {}), "19_0-4 ");
}

}  // namespace
}  // namespace muster
