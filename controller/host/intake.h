// Requests as they come from gateways: decoded, attributed to a person, and handed to whoever
// answers. One thread, so that one client's requests keep their order; name service and hashing
// happen here, never on the engine's thread. Where the site has a submit policy, its program is
// asked on threads of its own, and the submission comes back to the intake's: there, a client that
// does not wait for its answers loses their order.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "controller/host/audit.h"
#include "controller/host/blob_store.h"
#include "controller/host/caller.h"
#include "controller/host/engine_loop.h"
#include "controller/host/enrolment.h"
#include "controller/host/gateway_port.h"
#include "controller/host/log_relay.h"
#include "controller/host/queries.h"
#include "controller/host/settings.h"
#include "controller/host/users.h"
#include "controller/host/view.h"
#include "controller/host/watch_hub.h"
#include "controller/host/work_queue.h"

namespace muster {

constexpr std::size_t kIntakeQueuedMax = 20000;
constexpr std::size_t kPolicyThreads = 4;  // So many programs of a site run at once.
constexpr std::size_t kPoliciesQueuedMax = 1000;

struct IntakeParts {
  const Settings& settings;
  const View& view;
  Users& users;
  EngineLoop& engine;
  BlobStore& blobs;
  Queries& queries;
  WatchHub& watches;
  LogRelay& logs;
  Enrolment& enrolment;
  Audit& audit;
  Respond respond;
  // Loads the file again; calls back with a refusal or notes. On the intake's thread.
  std::function<void(const Requester& who, bool force, ReplyTo done)> reload;
  // A node's key is known and durable: let it in.
  std::function<void(const std::string& node, const std::string& key)> admit;
  std::string policy_shut_in;  // The path of muster-policy.
  std::string join_hint;  // " --controller … --server-key …" for the command shown by node add.
};

// A submit request on its way: checked, and seen by the policy.
struct Submission {
  RequestId id;
  User user;
  std::shared_ptr<SubmitBody> body;
  std::vector<std::string> notes;  // What the policy changed.
};

class Intake {
 public:
  explicit Intake(IntakeParts parts);
  void stop();
  void take(GatewayInbound inbound);  // Any thread; never blocks.
  // Runs work once everything taken before has been handed on. False: too busy.
  bool after_all_taken(std::function<void()> work) { return queue_.push(std::move(work)); }

 private:
  void take_stamped(const GatewayInbound& inbound);
  Result<Requester> requester_for(const GatewayInbound& inbound, const StampedRequest& stamped);
  void route(const Caller& caller, Request request);
  void submit(const Caller& caller, const Request& request);
  void ask_policy(const Caller& caller, const Submission& submission);
  Result<std::vector<std::string>> policy_notes(const Caller& caller, const User& user,
                                                SubmitBody& body);
  void place_jobs(const Caller& caller, const Submission& submission);
  void try_job(const Caller& caller, SubmitJobs command, const std::vector<std::string>& notes);
  void change_jobs(const Caller& caller, const Request& request);
  void change_nodes(const Caller& caller, const Request& request);
  void change_reservation(const Caller& caller, const Request& request);
  void set_usage(const Caller& caller, const Request& request);
  void add_node(const Caller& caller, const Request& request);
  void reload(const Caller& caller, const Request& request);
  void change_object(const Caller& caller, const Request& request);
  void skip_database(const Caller& caller, const Request& request);
  void push(const Caller& caller, Command command);
  void push(const Caller& caller, Command command, const ReplyTo& reply_to);
  void respond_change(const Caller& caller, const Reply& reply, Seq seq,
                      const std::vector<std::string>& notes = {});
  bool audited(const Caller& caller, Verb verb, const std::string& what);
  void refuse(const Caller& caller, const Error& error, std::uint32_t retry_after_ms = 0);

  IntakeParts parts_;
  WorkQueue queue_;
  std::atomic<bool> stopping_ = false;
  WorkQueue policies_;
};

}  // namespace muster
