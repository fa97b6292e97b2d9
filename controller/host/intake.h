// Requests as they come from gateways: decoded, attributed to a person, and handed to whoever
// answers. One thread, so that one client's requests keep their order; name service and hashing
// happen here, never on the engine's thread.
#pragma once

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
  std::string join_hint;  // " --controller … --server-key …" for the command shown by node add.
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
  void change_jobs(const Caller& caller, const Request& request);
  void change_nodes(const Caller& caller, const Request& request);
  void add_node(const Caller& caller, const Request& request);
  void reload(const Caller& caller, const Request& request);
  void change_object(const Caller& caller, const Request& request);
  void skip_database(const Caller& caller, const Request& request);
  void push(const Caller& caller, Command command);
  void respond_change(const Caller& caller, const Reply& reply, Seq seq);
  bool audited(const Caller& caller, Verb verb, const std::string& what);
  void refuse(const Caller& caller, const Error& error, std::uint32_t retry_after_ms = 0);

  IntakeParts parts_;
  WorkQueue queue_;
};

}  // namespace muster
