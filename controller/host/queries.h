// Reads: answered from the view by a pool of threads, never by the engine (but for explanations,
// which look at it).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/message/accounting.h"
#include "base/message/request.h"
#include "controller/host/blob_store.h"
#include "controller/host/caller.h"
#include "controller/host/clock.h"
#include "controller/host/engine_loop.h"
#include "controller/host/settings.h"
#include "controller/host/users.h"
#include "controller/host/view.h"
#include "controller/host/wait_reasons.h"
#include "controller/host/work_queue.h"
#include "controller/host/worker_peers.h"

namespace muster {

// What the rest of the controller says of itself. Any thread.
struct HostStatus {
  bool database_connected = false;
  Seq database_seq;
  std::string database_error;
  bool disk_full = false;
  std::vector<NodeAlarm> alarms;
};

struct QueriesParts {
  const View& view;
  EngineLoop& engine;
  const Settings& settings;
  Users& users;
  const Clock& clock;
  std::string release;
  std::string cluster_id;
  WallTime started;
  std::function<HostStatus()> status;
  Respond respond;
};

class Queries {
 public:
  explicit Queries(QueriesParts parts);
  void stop();
  // Takes every reading verb but watch and log-*. Answers kLimit at once when too many wait.
  void take(const Caller& caller, Request request);
  // An administrator's word, on record already, that accounting goes on without some records.
  void skip_database(const Caller& caller, const DatabaseSkipBody& body);

 private:
  void answer_request(const Caller& caller, const Request& request);
  Result<std::string> body_for(const Caller& caller, const Request& request,
                               const ViewState& state);
  Result<std::string> jobs(const Caller& caller, const Request& request, const ViewState& state);
  void complete(std::vector<JobRow>& rows, const ViewState& state);
  std::string all_jobs(const Caller& caller, const JobsBody& body, const ViewState& state);
  Result<std::string> job(const Caller& caller, const Request& request, const ViewState& state);
  Result<std::string> nodes(const Request& request, const ViewState& state);
  Result<std::string> queues(const ViewState& state);
  Result<std::string> accounts(const ViewState& state);
  Result<ConfigReply> config(const Caller& caller, const ViewState& state);
  Result<ChangeReply> skipped(const Caller& caller, const DatabaseSkipBody& body);
  std::string status(const Caller& caller, const ViewState& state);
  void refuse_busy(const Caller& caller);
  // Or refuses, when the engine has too much to do.
  void look(const Caller& caller, EngineLook look);
  void why(const Caller& caller, const Request& request);
  void estimates(const Caller& caller);
  void licences(const Caller& caller);
  void standings(const Caller& caller, const Request& request);
  Result<std::string> standings_for(const Caller& caller, const Request& request,
                                    const Standing& standing, const ViewState& state);
  void accounting(const Caller& caller, const Request& request);

  QueriesParts parts_;
  WaitReasons reasons_;
  WorkQueue pool_;
  WorkQueue reports_;  // PostgreSQL may be slow: its readers wait among themselves.
};

}  // namespace muster
