// From the view.
#include "controller/host/waiting_elements.h"

#include <algorithm>
#include <tuple>

#include "controller/host/listing.h"

namespace muster {

namespace {

template <class T>
bool may_be(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

bool passes(const AccountingFilter& filter, const JobFacts& facts) {
  return may_be(filter.jobs, facts.id) && may_be(filter.users, facts.user()) &&
         may_be(filter.accounts, facts.account()) && may_be(filter.queues, facts.queue()) &&
         (filter.until == WallTime{} || facts.submitted_wall < filter.until);
}

AccountingRow row_of(const JobFacts& facts, const JobRow& from) {
  AccountingRow row;
  row.job = from.job;
  row.element = from.element;
  row.is_array = true;
  row.uid = from.uid;
  row.user = from.user;
  row.account = from.account;
  row.queue = from.queue;
  row.name = from.name;
  row.state = "pending";
  row.submitted = facts.submitted_wall;
  row.gpu_seconds = row.cpu_seconds = "0";
  row.elements = from.elements;
  return row;
}

}  // namespace

void add_waiting_elements(const ViewState& state, const AccountingFilter& filter,
                          std::vector<AccountingRow>& rows) {
  std::erase_if(rows, [&](const AccountingRow& row) {
    return row.is_array && row.attempts == 0 && row.state == "pending" &&
           state.jobs.find(row.job.value) != nullptr;
  });
  if (may_be(filter.states, std::string("pending"))) {
    state.jobs.for_each(0, [&](std::uint64_t, const JobView& job) {
      if (!job.job.is_array() || !passes(filter, job.job.facts())) return true;
      for (const JobRow& row : job_rows(job, state, {false, {}})) {
        const bool waits = row.state == JobState::kPending || row.state == JobState::kHeld;
        if (waits && !row.elements.empty()) rows.push_back(row_of(job.job.facts(), row));
      }
      return true;
    });
  }
  std::stable_sort(rows.begin(), rows.end(), [](const AccountingRow& a, const AccountingRow& b) {
    return std::tie(b.job, a.element) < std::tie(a.job, b.element);
  });
  if (rows.size() > filter.limit) rows.resize(filter.limit);
}

}  // namespace muster
