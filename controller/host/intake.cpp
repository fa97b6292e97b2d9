// Routes requests by verb.
#include "controller/host/intake.h"
#include "controller/host/dry_run.h"

#include <algorithm>

#include "base/daemon/log.h"
#include "base/message/codec.h"
#include "base/message/json.h"
#include "base/message/share_request.h"
#include "base/types/text.h"
#include "base/types/usage_limits.h"
#include "controller/host/config_objects.h"
#include "controller/host/policy_run.h"
#include "controller/host/submission.h"
#include "controller/host/submit_policy.h"

namespace muster {

namespace {

constexpr std::uint32_t kBusyRetryMs = 500;
constexpr Duration kViewPatience = seconds(2);

JobSelection selection_of(const SelectBody& body) {
  JobSelection which;
  for (const JobChoice& choice : body.jobs) {
    which.elements.push_back({choice.job, choice.element.value_or(Element{})});
    which.element_given.push_back(choice.element.has_value());
  }
  which.names = body.names;
  which.users = body.users;
  which.queues = body.queues;
  which.all_mine = body.all_mine;
  return which;
}

std::string person(const Caller& caller) {
  return caller.who.user + " (uid " + std::to_string(caller.who.uid.value) + ") via " +
         caller.gateway;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

NodeVerb node_verb(Verb verb) {
  switch (verb) {
    case Verb::kNodeDrain:
      return NodeVerb::kDrain;
    case Verb::kNodeResume:
      return NodeVerb::kResume;
    case Verb::kNodeRemove:
      return NodeVerb::kRemove;
    default:
      return NodeVerb::kConfirmDead;
  }
}

bool is_for_operators(Verb verb) {
  return verb == Verb::kNodeDrain || verb == Verb::kNodeResume || verb == Verb::kReservationAdd ||
         verb == Verb::kReservationSet || verb == Verb::kReservationRemove;
}

}  // namespace

Intake::Intake(IntakeParts parts)
    : parts_(std::move(parts)),
      queue_(1, kIntakeQueuedMax),
      policies_(kPolicyThreads, kPoliciesQueuedMax) {}

void Intake::stop() {
  stopping_ = true;
  policies_.stop();
  queue_.stop();
}

void Intake::refuse(const Caller& caller, const Error& error, std::uint32_t retry_after_ms) {
  parts_.respond(caller, refusal(caller, error, retry_after_ms));
}

void Intake::take(GatewayInbound inbound) {
  auto shared = std::make_shared<const GatewayInbound>(std::move(inbound));
  if (queue_.push([this, shared] { take_stamped(*shared); })) return;
  // Dropped: the client's next try under the same request id finds room. Say so when we can tell
  // who asked.
  const auto stamped = decode<StampedRequest>(shared->payload);
  if (!stamped) return;
  const auto request = decode<Request>(stamped->request);
  if (!request) return;
  Caller caller{shared->peer, shared->gateway, stamped->connection, request->number, {}};
  refuse(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), kBusyRetryMs);
}

Result<Requester> Intake::requester_for(const GatewayInbound& inbound,
                                        const StampedRequest& stamped) {
  const auto settings = parts_.settings.now();
  const auto gateway =
      std::find_if(settings->gateways.begin(), settings->gateways.end(),
                   [&](const GatewayKey& key) { return key.name == inbound.gateway; });
  const bool admin_host = gateway != settings->gateways.end() && gateway->admin;
  const auto user = parts_.users.find(stamped.uid);
  if (!user) return user.error();
  return Requester{stamped.uid, user->gid, user->name, role_of(*user, settings->roles, admin_host),
                   inbound.gateway};
}

void Intake::take_stamped(const GatewayInbound& inbound) {
  const auto stamped = decode<StampedRequest>(inbound.payload);
  if (!stamped) {
    log_warn("gateway {}: {}", inbound.gateway, stamped.error().message);
    return;
  }
  if (stamped->closed) {
    parts_.watches.drop(inbound.peer, stamped->connection);
    parts_.logs.drop(inbound.peer, stamped->connection);
    return;
  }
  Caller caller{inbound.peer, inbound.gateway, stamped->connection, 0, {}};
  auto request = decode<Request>(stamped->request);
  if (!request) return refuse(caller, request.error());
  caller.number = request->number;
  if (request->protocol != kRequestProtocol) {
    return refuse(caller, fail(ErrorCode::kInvalid,
                               "the command speaks protocol " + std::to_string(request->protocol) +
                                   ", the controller " + std::to_string(kRequestProtocol) +
                                   "; install equal releases"));
  }
  auto who = requester_for(inbound, *stamped);
  if (!who) return refuse(caller, who.error());
  caller.who = std::move(*who);
  route(caller, std::move(*request));
}

void Intake::route(const Caller& caller, Request request) {
  switch (request.verb) {
    case Verb::kSubmit:
      return submit(caller, request);
    case Verb::kCancel:
    case Verb::kHold:
    case Verb::kRelease:
    case Verb::kRequeue:
    case Verb::kTop:
    case Verb::kSet:
      return change_jobs(caller, request);
    case Verb::kNodeDrain:
    case Verb::kNodeResume:
    case Verb::kNodeRemove:
    case Verb::kNodeConfirmDead:
      return change_nodes(caller, request);
    case Verb::kReservationAdd:
    case Verb::kReservationSet:
    case Verb::kReservationRemove:
      return change_reservation(caller, request);
    case Verb::kUsageSet:
      return set_usage(caller, request);
    case Verb::kNodeAdd:
      return add_node(caller, request);
    case Verb::kReload:
      return reload(caller, request);
    case Verb::kObjectChange:
      return change_object(caller, request);
    case Verb::kDatabaseSkip:
      return skip_database(caller, request);
    case Verb::kStateDump:
      if (audited(caller, request.verb, "is about to be taken"))
        push(caller, RebuildBoard{caller.who});
      return;
    case Verb::kLogOpen:
    case Verb::kLogRead:
    case Verb::kLogClose:
      return parts_.logs.take(caller, std::move(request));
    case Verb::kWatch: {
      auto body = decode<JobsBody>(request.body);
      if (!body) return refuse(caller, body.error());
      const auto added = parts_.watches.add(caller, std::move(*body));
      if (!added) refuse(caller, added.error(), kBusyRetryMs);
      return;
    }
    default:
      return parts_.queries.take(caller, std::move(request));
  }
}

void Intake::push(const Caller& caller, Command command) {
  push(caller, std::move(command),
       [this, caller](const Reply& reply, Seq seq) { respond_change(caller, reply, seq); });
}

void Intake::push(const Caller& caller, Command command, const ReplyTo& reply_to) {
  if (!parts_.engine.push({std::move(command), reply_to})) {
    refuse(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), kBusyRetryMs);
  }
}

void Intake::respond_change(const Caller& caller, const Reply& reply, Seq seq,
                            const std::vector<std::string>& notes) {
  if (reply.error.has_value()) return refuse(caller, *reply.error);
  ChangeReply change{reply.jobs, notes};
  change.notes.insert(change.notes.end(), reply.notes.begin(), reply.notes.end());
  parts_.respond(caller, answer(caller, seq, encode(change)));
}

void Intake::submit(const Caller& caller, const Request& request) {
  auto body = decode<SubmitBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (!request.request_id.has_value()) {
    return refuse(caller,
                  fail(ErrorCode::kInvalid,
                       "submit: the request has no id, so a retry could not be told apart"));
  }
  if (const auto checked = check_submission(*body); !checked)
    return refuse(caller, checked.error());
  auto user = parts_.users.find(caller.who.uid);
  if (!user) return refuse(caller, user.error());
  const Submission submission{RequestId{caller.who.uid, *request.request_id},
                              std::move(*user),
                              std::make_shared<SubmitBody>(std::move(*body)),
                              {}};
  if (parts_.settings.now()->submit_policy.program.empty()) return place_jobs(caller, submission);
  if (!policies_.push([=, this] { ask_policy(caller, submission); }))
    refuse(caller, fail(ErrorCode::kLimit, "the site's policy is busy; retry"), kBusyRetryMs);
}

// On a thread of the policies; what it let through goes back to the intake's.
void Intake::ask_policy(const Caller& caller, const Submission& submission) {
  auto notes = policy_notes(caller, submission.user, *submission.body);
  if (!notes) return refuse(caller, notes.error());
  Submission edited = submission;
  edited.notes = std::move(*notes);
  if (!queue_.push([=, this] { place_jobs(caller, edited); }))
    refuse(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), kBusyRetryMs);
}

// What the policy changed in body, on record; or why nothing is submitted.
Result<std::vector<std::string>> Intake::policy_notes(const Caller& caller, const User& user,
                                                      SubmitBody& body) {
  const auto settings = parts_.settings.now();
  const HostConfig::SubmitPolicy& policy = settings->submit_policy;
  const std::string question = policy_question(caller.who, user.group_names, body);
  SubmitBody edited = body;
  const auto said = run_policy(
      {parts_.policy_shut_in, policy.program, policy.user, policy.timeout, stopping_}, question);
  const auto notes = said ? apply_policy(*said, edited) : said.error();
  if (!notes && notes.error().code != ErrorCode::kConflict) {
    const std::string& why = notes.error().message;
    log_error("submit policy: {}", said ? policy.program + " " + why : why);
    if (policy.allow_on_failure)
      return std::vector<std::string>{"the site's policy failed and was passed over"};
    return fail(ErrorCode::kUnavailable,
                "submit: the site's policy failed; try again, or tell an "
                "administrator (the controller's log says why)");
  }
  const std::string what = notes ? joined(*notes) : notes.error().message;
  if (!what.empty() && !body.dry_run) {
    const auto noted = parts_.audit.add({person(caller), "submit-policy", what, notes.ok()});
    if (!noted) return noted.error();
  }
  if (notes) body = std::move(edited);
  return notes;
}

// On the intake's thread: contents become blobs in the order of the commands that name them.
void Intake::place_jobs(const Caller& caller, const Submission& submission) {
  const bool dry_run = submission.body->dry_run;
  auto jobs = new_jobs(std::move(*submission.body), submission.user.groups, parts_.blobs);
  if (!jobs) return refuse(caller, jobs.error(), kBusyRetryMs);
  SubmitJobs command{caller.who, submission.id, std::move(*jobs), dry_run};
  if (dry_run && command.jobs.size() == 1)
    return try_job(caller, std::move(command), submission.notes);
  const auto reply_to = [this, caller, notes = submission.notes](const Reply& reply, Seq seq) {
    respond_change(caller, reply, seq, notes);
  };
  push(caller, std::move(command), reply_to);
}

// What a dry run says at once is followed by when the job would start.
void Intake::try_job(const Caller& caller, SubmitJobs command,
                     const std::vector<std::string>& notes) {
  const auto spec = std::make_shared<const JobSpec>(command.jobs.front().spec);
  const auto reply_to = [this, caller, spec, notes](const Reply& reply, Seq seq) {
    if (reply.error.has_value()) return refuse(caller, *reply.error);
    ChangeReply change{{}, notes};
    change.notes.insert(change.notes.end(), reply.notes.begin(), reply.notes.end());
    try_start(parts_.engine, caller.who, *spec,
              [this, caller, seq, change](std::optional<TrialReply> trial) {
                ChangeReply whole = change;
                whole.trial = std::move(trial);
                parts_.respond(caller, answer(caller, seq, encode(whole)));
              });
  };
  push(caller, std::move(command), reply_to);
}

void Intake::change_jobs(const Caller& caller, const Request& request) {
  const auto body = decode<SelectBody>(request.body);
  if (!body) return refuse(caller, body.error());
  JobSelection which = selection_of(*body);
  switch (request.verb) {
    case Verb::kCancel:
      return push(caller, CancelJobs{caller.who, which, body->signal});
    case Verb::kHold:
      return push(caller, HoldJobs{caller.who, which});
    case Verb::kRelease:
      return push(caller, ReleaseJobs{caller.who, which});
    case Verb::kRequeue:
      return push(caller, RequeueJobs{caller.who, which});
    case Verb::kTop:
      return push(caller, TopJobs{caller.who, which});
    default:
      break;
  }
  push(caller, SetJobs{caller.who, which, body->time_limit, body->queue, body->account,
                       body->priority, body->name, body->qos, body->nice, body->depends,
                       body->begin, body->deadline, body->throttle, body->reservation});
}

// Administrators' verbs are on record before they are carried out; without a record they are
// refused.
bool Intake::audited(const Caller& caller, Verb verb, const std::string& what) {
  const bool allowed = caller.who.role == Role::kAdmin ||
                       (caller.who.role == Role::kOperator && is_for_operators(verb));
  const auto noted = parts_.audit.add({person(caller), std::string(name_of(verb)), what, allowed});
  if (!allowed) {
    refuse(caller, fail(ErrorCode::kConflict,
                        std::string(name_of(verb)) + ": you (" + caller.who.user +
                            ") are not an administrator here; ask one, or run it on the "
                            "controller's host"));
    return false;
  }
  if (!noted) refuse(caller, noted.error());
  return noted.ok();
}

void Intake::change_nodes(const Caller& caller, const Request& request) {
  const auto body = decode<NodeChangeBody>(request.body);
  if (!body) return refuse(caller, body.error());
  std::string what = joined(body->nodes) + ": " + body->reason;
  if (body->deadline != WallTime{}) what += "; deadline " + to_rfc3339(body->deadline);
  if (!audited(caller, request.verb, what)) return;
  push(caller,
       ChangeNodes{caller.who, node_verb(request.verb), body->nodes, body->reason, body->deadline});
}

void Intake::change_reservation(const Caller& caller, const Request& request) {
  const auto body = decode<ReservationBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (body->spec.users && body->spec.users->size() > kReservationNamesMax)
    return refuse(caller, fail(ErrorCode::kLimit, "reservation: too many users"));
  if (!audited(caller, request.verb, body->name + ": " + to_json(body->spec))) return;
  if (request.verb == Verb::kReservationRemove)
    return push(caller, RemoveReservation{caller.who, body->name});
  for (const std::string& user : body->spec.users.value_or(std::vector<std::string>{})) {
    if (const auto known = Users::check_known(user); !known) return refuse(caller, known.error());
  }
  push(caller,
       SetReservation{caller.who, body->name, request.verb == Verb::kReservationAdd, body->spec});
}

void Intake::set_usage(const Caller& caller, const Request& request) {
  const auto body = decode<UsageSetBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (body->lines.size() > kUsageLinesMax)
    return refuse(caller, fail(ErrorCode::kLimit, "usage: more than 10000 lines; set it in parts"));
  std::uint64_t sum = 0;
  for (const UsageLine& line : body->lines) sum += std::min(line.gpu_seconds, kGpuSecondsSetMax);
  const std::string what = std::to_string(body->lines.size()) + " users of accounts, " +
                           std::to_string(sum) + " GPU-seconds";
  if (!audited(caller, request.verb, what)) return;
  SetUsage command{caller.who, {}};
  for (const UsageLine& line : body->lines) {
    const auto uid = Users::uid_of(line.user);
    if (!uid) return refuse(caller, uid.error());
    command.lines.push_back({{line.account, *uid}, line.gpu_seconds});
  }
  push(caller, std::move(command));
}

void Intake::add_node(const Caller& caller, const Request& request) {
  const auto body = decode<NodeAddBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (const auto named = check_name(body->node); !named) return refuse(caller, named.error());
  if (!audited(caller, Verb::kNodeAdd, body->node)) return;
  if (body->public_key.empty()) {
    const auto token = parts_.enrolment.make_token(body->node);
    if (!token) return refuse(caller, token.error());
    NodeAddReply reply;
    reply.token = *token;
    reply.command = "muster-worker enrol --node " + body->node + parts_.join_hint;
    reply.valid_seconds = static_cast<std::uint32_t>(kTokenValid.seconds());
    return parts_.respond(caller, answer(caller, {}, encode(reply)));
  }
  if (const auto key = check_public_key(body->public_key); !key) return refuse(caller, key.error());
  const std::string node = body->node;
  const std::string public_key = body->public_key;
  const bool queued = parts_.engine.push(
      {EnrolNode{caller.who, node, public_key}, [=, this](const Reply& reply, Seq seq) {
         if (reply.error.has_value()) return refuse(caller, *reply.error);
         parts_.admit(node, public_key);
         parts_.respond(caller, answer(caller, seq, encode(NodeAddReply{})));
       }});
  if (!queued)
    refuse(caller, fail(ErrorCode::kLimit, "the controller is busy; retry"), kBusyRetryMs);
}

void Intake::skip_database(const Caller& caller, const Request& request) {
  const auto body = decode<DatabaseSkipBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (body->reason.empty())
    return refuse(caller, fail(ErrorCode::kInvalid, "database-skip: say why: --reason TEXT"));
  if (!audited(caller, request.verb,
               "to record " + std::to_string(body->next.value) + ": " + body->reason))
    return;
  parts_.queries.skip_database(caller, *body);
}

void Intake::reload(const Caller& caller, const Request& request) {
  const auto body = decode<ReloadBody>(request.body);
  if (!body) return refuse(caller, body.error());
  const std::string what = parts_.settings.now()->path + (body->force ? " alone" : "");
  if (!audited(caller, Verb::kReload, what)) return;
  parts_.reload(caller.who, body->force, [this, caller](const Reply& reply, Seq seq) {
    respond_change(caller, reply, seq);
  });
}

// Made from the configuration that readers see; the engine refuses it when that is an old one.
void Intake::change_object(const Caller& caller, const Request& request) {
  const auto body = decode<ObjectChangeBody>(request.body);
  if (!body) return refuse(caller, body.error());
  if (!audited(caller, request.verb, text_of(*body))) return;
  const auto state = parts_.view.state_at(request.seen, kViewPatience);
  if (state == nullptr)
    return refuse(caller, fail(ErrorCode::kUnavailable, "the controller is busy; retry"),
                  kBusyRetryMs);
  auto config = muster::change_object(*state->config, *body);
  if (!config) return refuse(caller, config.error());
  push(caller,
       ApplyConfig{caller.who, std::move(*config), ConfigSource::kObjects, state->config->version});
}

}  // namespace muster
