// Answers from the view.
#include "controller/host/queries.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "base/message/json.h"
#include "controller/core/decide/licences.h"
#include "controller/host/clock.h"
#include "controller/host/config_objects.h"
#include "controller/host/listing.h"
#include "controller/host/reservation_rows.h"
#include "controller/host/standings.h"
#include "controller/host/start_times.h"
#include "controller/host/waiting_elements.h"
#include "controller/host/watch_hub.h"
#include "controller/sql/accounting.h"
#include "controller/sql/feed.h"

namespace muster {

namespace {

constexpr std::size_t kQueriesWaitingMax = 10000;
constexpr std::uint32_t kRowsMax = 100000;
constexpr std::size_t kPageRows = 1000;  // The reader works on one page while the next is made.
constexpr Duration kSeenPatience = seconds(2);

std::uint64_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}

bool is_staff(const Requester& who) { return who.role != Role::kUser; }

Error no_such_job(JobId id) {
  return fail(ErrorCode::kNotFound, "no job " + std::to_string(id.value) +
                                        " is in the queue; ended jobs are listed by 'gpuacct " +
                                        std::to_string(id.value) + "'");
}

void add_rows(const JobView& view, const JobsBody& body, const ViewState& state,
              std::vector<JobRow>& rows) {
  const bool ended = body.include_ended || !body.states.empty();
  for (JobRow& row : job_rows(view, state, {ended, {}})) {
    if (matches(body, row)) rows.push_back(std::move(row));
  }
}

}  // namespace

Queries::Queries(QueriesParts parts)
    : parts_(std::move(parts)),
      reasons_(parts_.engine),
      pool_(parts_.settings.now()->query_threads, kQueriesWaitingMax),
      reports_(1, kQueriesWaitingMax) {}

void Queries::stop() {
  pool_.stop();
  reports_.stop();
}

void Queries::take(const Caller& caller, Request request) {
  if (request.verb == Verb::kWhy) return why(caller, request);
  if (request.verb == Verb::kEstimates) return estimates(caller);
  if (request.verb == Verb::kLicences) return licences(caller);
  if (request.verb == Verb::kShares || request.verb == Verb::kTurns)
    return standings(caller, request);
  WorkQueue& queue = request.verb == Verb::kAccounting ? reports_ : pool_;
  auto shared = std::make_shared<const Request>(std::move(request));
  const bool queued = queue.push([this, caller, shared] {
    if (shared->verb == Verb::kAccounting) {
      accounting(caller, *shared);
    } else {
      answer_request(caller, *shared);
    }
  });
  if (queued) return;
  parts_.respond(caller, refusal(caller,
                                 fail(ErrorCode::kLimit,
                                      "the controller answers as many queries as it may; retry"),
                                 500));
}

void Queries::answer_request(const Caller& caller, const Request& request) {
  const auto state = parts_.view.state_at(request.seen, kSeenPatience);
  if (state == nullptr) {
    const Error late = fail(ErrorCode::kUnavailable,
                            "the controller has not caught up with your last change; retry");
    return parts_.respond(caller, refusal(caller, late, 200));
  }
  auto body = body_for(caller, request, *state);
  if (!body) return parts_.respond(caller, refusal(caller, body.error()));
  parts_.respond(caller, answer(caller, state->seq, std::move(*body)));
}

Result<std::string> Queries::body_for(const Caller& caller, const Request& request,
                                      const ViewState& state) {
  switch (request.verb) {
    case Verb::kPing:
    case Verb::kStatus:
      return status(caller, state);
    case Verb::kJobs:
      return jobs(caller, request, state);
    case Verb::kJob:
      return job(caller, request, state);
    case Verb::kNodes:
      return nodes(request, state);
    case Verb::kQueues:
      return queues(state);
    case Verb::kAccounts:
      return accounts(state);
    case Verb::kObjects:
      return encode(objects_of(*state.config));
    case Verb::kReservations:
      return encode(ReservationsReply{reservation_rows(*state.reservations, wall_now())});
    case Verb::kConfigShow: {
      const auto reply = config(caller, state);
      return reply ? Result<std::string>(encode(*reply)) : Result<std::string>(reply.error());
    }
    default:
      return fail(ErrorCode::kInvalid,
                  "the controller does not know this verb; install equal releases");
  }
}

std::string Queries::status(const Caller& caller, const ViewState& state) {
  StatusReply reply;
  reply.cluster = state.config->cluster;
  reply.release = parts_.release;
  reply.epoch = state.epoch;
  reply.seq = state.seq;
  reply.config_version = state.config->version;
  reply.started = parts_.started;
  reply.role = std::string(name_of(caller.who.role));
  state.nodes.for_each(0, [&](std::uint64_t, const NodeView& node) {
    ++reply.nodes;
    reply.nodes_connected += node.connected ? 1 : 0;
    return true;
  });
  reply.jobs_pending = state.jobs_pending;
  reply.jobs_running = state.jobs_running;
  const HostStatus host = parts_.status();
  reply.database_connected = host.database_connected;
  reply.database_seq = host.database_seq;
  reply.database_error = host.database_error;
  reply.disk_full = host.disk_full;
  for (const NodeAlarm& alarm : host.alarms)
    reply.alarms.push_back("node " + alarm.node + ": " + alarm.text);
  reply.memory_kib = resident_kib();
  return encode(reply);
}

// What the view does not hold.
void Queries::complete(std::vector<JobRow>& rows, const ViewState& state) {
  reasons_.fill(rows, state);
  fill_starts(rows, state, *parts_.engine.starts(), parts_.clock.now());
}

std::string Queries::all_jobs(const Caller& caller, const JobsBody& body, const ViewState& state) {
  const std::uint32_t rows_max = body.rows_max == 0 ? kRowsMax : std::min(body.rows_max, kRowsMax);
  JobsReply page;
  std::size_t rows = 0;
  state.jobs.for_each(body.after.value, [&](std::uint64_t, const JobView& view) {
    if (body.pages && page.rows.size() >= kPageRows) {
      complete(page.rows, state);
      Response response = answer(caller, state.seq, encode(page));
      response.more = true;
      parts_.respond(caller, response);
      page.rows.clear();
    }
    const std::size_t before = page.rows.size();
    add_rows(view, body, state, page.rows);
    rows += page.rows.size() - before;
    return rows < rows_max;
  });
  complete(page.rows, state);
  return encode(page);
}

Result<std::string> Queries::jobs(const Caller& caller, const Request& request,
                                  const ViewState& state) {
  const auto body = decode<JobsBody>(request.body);
  if (!body) return body.error();
  if (body->jobs.empty()) return all_jobs(caller, *body, state);
  JobsReply reply;
  for (const JobChoice& choice : body->jobs) {
    const JobView* view = state.jobs.find(choice.job.value);
    if (view == nullptr) {
      if (body->jobs.size() == 1) return no_such_job(choice.job);
      continue;
    }
    JobRow row;
    if (choice.element.has_value() && element_row(*view, *choice.element, state, row)) {
      reply.rows.push_back(std::move(row));
    } else if (!choice.element.has_value()) {
      JobsBody all = *body;
      all.jobs.clear();
      all.include_ended = true;
      add_rows(*view, all, state, reply.rows);
    }
  }
  complete(reply.rows, state);
  return encode(reply);
}

Result<std::string> Queries::job(const Caller& caller, const Request& request,
                                 const ViewState& state) {
  const auto body = decode<JobBody>(request.body);
  if (!body) return body.error();
  const JobView* view = state.jobs.find(body->job.job.value);
  if (view == nullptr) return no_such_job(body->job.job);
  const Element element = body->job.element.value_or(
      view->job.is_array() ? element_at(view->job.facts().terms->array, 0) : Element{});
  JobReply reply;
  if (!element_row(*view, element, state, reply.row)) {
    return fail(ErrorCode::kNotFound, "job " + std::to_string(body->job.job.value) +
                                          " has no element " + std::to_string(element.value));
  }
  std::vector<JobRow> rows{reply.row};
  fill_starts(rows, state, *parts_.engine.starts(), parts_.clock.now());
  reply.row = std::move(rows.front());
  reply.spec = view->job.facts().spec();
  reply.members = member_rows(*view, element, state);
  if (const auto ending = view->job.find_ending(element)) reply.cause = ending->cause;
  if (is_staff(caller.who) || caller.who.uid == view->job.facts().uid()) {
    if (auto launch = decode<LaunchSpec>(view->job.facts().launch))
      reply.launch = std::move(*launch);
  }
  return encode(reply);
}

Result<std::string> Queries::nodes(const Request& request, const ViewState& state) {
  const auto body = decode<NodesBody>(request.body);
  if (!body) return body.error();
  NodesReply reply;
  const HostStatus host = parts_.status();
  const ReservedNodes reserved(*state.reservations, wall_now());
  state.nodes.for_each(0, [&](std::uint64_t, const NodeView& node) {
    const auto& wanted = body->nodes;
    if (wanted.empty() ||
        std::find(wanted.begin(), wanted.end(), node.node->name) != wanted.end()) {
      reply.rows.push_back(node_row(node, state));
      reserved.fill(reply.rows.back());
      for (const NodeAlarm& alarm : host.alarms) {
        if (alarm.node == node.node->name) reply.rows.back().alarm = alarm.text;
      }
    }
    return true;
  });
  for (const std::string& name : body->nodes) {
    const bool found = std::any_of(reply.rows.begin(), reply.rows.end(),
                                   [&](const NodeRow& row) { return row.name == name; });
    if (!found)
      return fail(ErrorCode::kNotFound, "no node is named '" + name + "'; 'gpuinfo' lists them");
  }
  return encode(reply);
}

Result<std::string> Queries::queues(const ViewState& state) {
  QueuesReply reply;
  for (const QueueConfig& queue : state.config->queues) {
    QueueRow row;
    row.name = queue.name;
    row.is_default = queue.name == state.config->queue_default;
    row.open = queue.open;
    row.priority = queue.priority;
    row.time_default = queue.time_default;
    row.time_max = queue.time_max;
    state.nodes.for_each(0, [&](std::uint64_t, const NodeView& node) {
      const auto& names = queue.nodes;
      if (!names.empty() && std::find(names.begin(), names.end(), node.node->name) == names.end())
        return true;
      ++row.nodes;
      row.gpus += static_cast<std::uint32_t>(node.node->inventory.gpus.size());
      row.gpus_used += static_cast<std::uint32_t>(node.milli_used.size());
      return true;
    });
    reply.rows.push_back(std::move(row));
  }
  state.jobs.for_each(0, [&](std::uint64_t, const JobView& job) {
    for (QueueRow& row : reply.rows) {
      if (row.name != job.job.facts().queue()) continue;
      row.jobs_pending +=
          job.job.count(ElementState::kPending) + job.job.count(ElementState::kWaiting);
      row.jobs_running += job.job.count(ElementState::kActive);
    }
    return true;
  });
  return encode(reply);
}

Result<std::string> Queries::accounts(const ViewState& state) {
  AccountsReply reply;
  for (const AccountConfig& account : state.config->accounts) {
    reply.rows.push_back({account.name, account.parent, account.users,
                          account.name == state.config->account_default});
  }
  return encode(reply);
}

Result<ConfigReply> Queries::config(const Caller& caller, const ViewState& state) {
  if (!is_staff(caller.who)) {
    return fail(ErrorCode::kConflict,
                "config-show: only operators and administrators may see it; gpuadmin queue list "
                "and gpuadmin account list show what concerns you");
  }
  return ConfigReply{state.config->version, to_json(*state.config)};
}

void Queries::skip_database(const Caller& caller, const DatabaseSkipBody& body) {
  const bool queued = reports_.push([this, caller, body] {
    const auto reply = skipped(caller, body);
    parts_.respond(caller, reply ? answer(caller, parts_.view.state()->seq, encode(*reply))
                                 : refusal(caller, reply.error()));
  });
  if (queued) return;
  parts_.respond(caller,
                 refusal(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), 500));
}

Result<ChangeReply> Queries::skipped(const Caller& caller, const DatabaseSkipBody& body) {
  const auto state = parts_.view.state();
  const std::string conninfo = parts_.settings.now()->database;
  const std::string next = std::to_string(body.next.value);
  if (conninfo.empty())
    return fail(ErrorCode::kConflict, "accounting is off: there is nothing to skip");
  if (body.next > state->seq) {
    return fail(ErrorCode::kInvalid, "the journal ends with record " +
                                         std::to_string(state->seq.value) +
                                         ": there is no record " + next);
  }
  auto feed = Feed::connect(conninfo, parts_.cluster_id, state->epoch);
  if (!feed) return feed.error();
  const std::uint64_t wanted = feed->watermark().value + 1;
  if (body.next.value <= wanted) {
    return fail(ErrorCode::kConflict, "the database wants record " + std::to_string(wanted) +
                                          " next: nothing lies between it and record " + next);
  }
  const std::string by = caller.who.user + ": " + body.reason;
  if (const auto done = feed->skip_to(body.next, by); !done) return done.error();
  const std::string lost = "records " + std::to_string(wanted) + " to " +
                           std::to_string(body.next.value - 1) + " are lost to accounting";
  log_warn("{} by the word of {}", lost, by);
  return ChangeReply{{}, {lost}};
}

namespace {

WhyReply why_reply(const Explanation& explanation, Now now) {
  WhyReply reply;
  reply.job = explanation.job;
  reply.reason = std::string(name_of(explanation.reason));
  reply.sentence = explanation.sentence;
  reply.nodes_total = explanation.nodes_total;
  reply.nodes_fit = explanation.nodes_fit;
  reply.nodes_needed = explanation.nodes_needed;
  for (const Blocker& blocker : explanation.blockers)
    reply.blockers.push_back({blocker.constraint, blocker.nodes_failing});
  reply.jobs_ahead = explanation.jobs_ahead;
  if (explanation.frees_last.has_value()) reply.frees_last = to_text(*explanation.frees_last);
  if (explanation.start_latest.has_value()) {
    reply.start_latest = {now.wall.us + (*explanation.start_latest - now.at).us};
  }
  reply.limit_max = explanation.limit_max;
  if (explanation.start_half && explanation.start_most) {
    reply.start_p50 = {now.wall.us + (*explanation.start_half - now.at).us};
    reply.start_p90 = {now.wall.us + (*explanation.start_most - now.at).us};
  }
  return reply;
}

WhyReply not_waiting(const JobView& view, Element element, const ViewState& state) {
  WhyReply reply;
  JobRow row;
  reply.job = view.job.facts().id;
  if (!element_row(view, element, state, row)) return reply;
  reply.reason = std::string(name_of(row.state));
  reply.sentence = row.state == JobState::kEnded
                       ? "It has ended: " + row.reason + "."
                       : "It does not wait: it is " + reply.reason + " on " + row.node_list + ".";
  return reply;
}

}  // namespace

void Queries::refuse_busy(const Caller& caller) {
  parts_.respond(caller,
                 refusal(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), 500));
}

void Queries::look(const Caller& caller, EngineLook look) {
  if (!parts_.engine.look(std::move(look))) refuse_busy(caller);
}

void Queries::why(const Caller& caller, const Request& request) {
  const auto body = decode<JobBody>(request.body);
  if (!body) return parts_.respond(caller, refusal(caller, body.error()));
  const JobChoice choice = body->job;
  look(caller, [this, caller, choice](const Engine& engine, Now now) {
    const Job* job = engine.cluster().find_job(choice.job);
    if (job == nullptr) return parts_.respond(caller, refusal(caller, no_such_job(choice.job)));
    Element element = choice.element.value_or(Element{});
    if (!choice.element.has_value() && job->is_array()) {
      element = job->first_in(ElementState::kPending)
                    .value_or(job->first_in(ElementState::kWaiting)
                                  .value_or(element_at(job->facts().terms->array, 0)));
    }
    const auto explanation = engine.explain({choice.job, element}, now.at);
    if (explanation.has_value()) {
      return parts_.respond(
          caller, answer(caller, engine.seq_last(), encode(why_reply(*explanation, now))));
    }
    const auto state = parts_.view.state();
    const JobView* view = state->jobs.find(choice.job.value);
    if (view == nullptr) return parts_.respond(caller, refusal(caller, no_such_job(choice.job)));
    parts_.respond(caller, answer(caller, state->seq, encode(not_waiting(*view, element, *state))));
  });
}

void Queries::estimates(const Caller& caller) {
  look(caller, [this, caller](const Engine& engine, Now) {
    const EstimatesReply reply = estimates_reply(engine.cluster().estimates(), *engine.starts());
    parts_.respond(caller, answer(caller, engine.seq_last(), encode(reply)));
  });
}

void Queries::licences(const Caller& caller) {
  look(caller, [this, caller](const Engine& engine, Now) {
    LicencesReply reply;
    for (LicenceUse& licence : engine.licences())
      reply.rows.push_back({std::move(licence.name), licence.total, licence.used, licence.free});
    parts_.respond(caller, answer(caller, engine.seq_last(), encode(reply)));
  });
}

// The engine hands out what it counts from; the counting is done here.
void Queries::standings(const Caller& caller, const Request& request) {
  look(caller, [this, caller, request](const Engine& engine, Now now) {
    const bool taken = reports_.push([this, caller, request, standing = engine.standing(now.at)] {
      const auto state = parts_.view.state_at(request.seen, kSeenPatience);
      auto body = state == nullptr ? Result<std::string>(fail(ErrorCode::kUnavailable,
                                                              "the controller has not caught up "
                                                              "with your last change; retry"))
                                   : standings_for(caller, request, standing, *state);
      parts_.respond(caller, body ? answer(caller, state->seq, std::move(*body))
                                  : refusal(caller, body.error(), 200));
    });
    if (!taken) refuse_busy(caller);
  });
}

Result<std::string> Queries::standings_for(const Caller& caller, const Request& request,
                                           const Standing& standing, const ViewState& state) {
  if (request.verb == Verb::kShares) {
    const auto name_of = [this](Uid uid) {
      const auto user = parts_.users.find(uid);
      return user ? user->name : std::to_string(uid.value);
    };
    return encode(shares_reply(standing, *state.config, caller.who, name_of));
  }
  const auto body = decode<JobsBody>(request.body);
  if (!body) return body.error();
  if (body->jobs.size() == 1 && state.jobs.find(body->jobs[0].job.value) == nullptr)
    return no_such_job(body->jobs[0].job);
  return encode(turns_reply(standing, state, *body));
}

void Queries::accounting(const Caller& caller, const Request& request) {
  auto filter = decode<AccountingFilter>(request.body);
  if (!filter) return parts_.respond(caller, refusal(caller, filter.error()));
  const std::string conninfo = parts_.settings.now()->database;
  if (conninfo.empty()) {
    const Error none = fail(ErrorCode::kConflict,
                            "accounting is off: the controller's configuration has no [database]; "
                            "ask an administrator");
    return parts_.respond(caller, refusal(caller, none));
  }
  if (!is_staff(caller.who)) {
    const auto is_other = [&](const std::string& user) { return user != caller.who.user; };
    if (std::any_of(filter->users.begin(), filter->users.end(), is_other)) {
      const Error closed = fail(ErrorCode::kConflict,
                                "accounting: users see their own jobs only; leave --user out, or "
                                "ask an operator");
      return parts_.respond(caller, refusal(caller, closed));
    }
    filter->users = {caller.who.user};
  }
  auto accounting = Accounting::connect(conninfo, parts_.cluster_id);
  if (!accounting) return parts_.respond(caller, refusal(caller, accounting.error(), 2000));
  auto rows = accounting->query(*filter);
  if (!rows) return parts_.respond(caller, refusal(caller, rows.error(), 2000));
  AccountingReply reply{std::move(*rows)};
  const auto state = parts_.view.state();
  add_waiting_elements(*state, *filter, reply.rows);
  parts_.respond(caller, answer(caller, state->seq, encode(reply)));
}

}  // namespace muster
