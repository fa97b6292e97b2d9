// Following the events.
#include "controller/core/decide/board.h"

#include "controller/core/decide/shortest.h"

namespace muster {
namespace {

ClusterConfig without_limits(ClusterConfig config) {
  config.version = 0;
  config.users.clear();
  for (QueueConfig& queue : config.queues)
    queue.limits = queue.user_limits = queue.account_limits = Limits{};
  for (QosConfig& qos : config.qos) qos.limits = qos.user_limits = qos.account_limits = Limits{};
  for (AccountConfig& account : config.accounts) {
    account.limits = account.user_limits = Limits{};
    account.quotas.clear();
  }
  return config;
}

template <class Each>
void each_attempt(const Cluster& cluster, JobId job, Each each) {
  const auto& attempts = cluster.attempts();
  for (auto it = attempts.lower_bound(AttemptKey{job, {}, {}});
       it != attempts.end() && it->first.job == job; ++it)
    each(it->second);
}

struct Before {
  Board& board;
  const Cluster& cluster;
  void operator()(const ConfigApplied& event) const {
    board.limits_only = without_limits(event.config) == without_limits(cluster.config());
  }
  void operator()(const JobChanged& event) const {
    board.line.remove(cluster, event.job);
    if (board.limits.is_empty()) return;
    const Job& job = *cluster.find_job(event.job);
    if (!job.is_ended()) board.limits.leave(cluster, job.facts());
    each_attempt(cluster, event.job,
                 [&](const Attempt& attempt) { board.limits.end(cluster, attempt); });
  }
  void operator()(const AttemptLaunched& event) const {
    board.limits.end(cluster, *cluster.find_attempt(event.key));
  }
  void operator()(const AttemptStopping& event) const {
    board.limits.quotas.end(cluster, *cluster.find_attempt(event.key));
  }
  void operator()(const JobForgotten& event) const { board.line.remove(cluster, event.job); }
  void operator()(const AttemptEnded& event) const {
    const Attempt& attempt = *cluster.find_attempt(event.key);
    board.order.forecast.ended(event.key);
    board.ledger.give(*attempt.place);
    board.horizon.remove(attempt);
    board.licences.give(event.key, *cluster.find_job(event.key.job)->facts().terms);
    board.order.shares.ended(event.key);
    board.limits.end(cluster, attempt);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

struct Afterwards {
  Board& board;
  const Cluster& cluster;
  void operator()(const ConfigApplied&) const {
    board.limits_only ? board.rebuild_limits(cluster) : board.rebuild(cluster);
  }
  void operator()(const ReservationSet&) const { reserve(); }
  void operator()(const ReservationRemoved&) const { reserve(); }
  void operator()(const NodeEnrolled& event) const {
    refresh(event.node);
    board.calendar.rebuild(cluster);
  }
  void operator()(const NodeReported& event) const { refresh(event.node); }
  void operator()(const NodeStateChanged& event) const { refresh(event.node); }
  void operator()(const NodeRemoved& event) const {
    refresh(event.node);
    board.calendar.rebuild(cluster);
  }
  void operator()(const JobSubmitted& event) const {
    board.ledger.note_arrival(event.job, cluster.find_job(event.job)->facts().terms);
    board.limits.enter(cluster, cluster.find_job(event.job)->facts());
    line(event.job);
  }
  void operator()(const ElementsHeld& event) const { line(event.job); }
  void operator()(const ElementsReleased& event) const { line(event.job); }
  void operator()(const ElementsEnded& event) const {
    const Job& job = *cluster.find_job(event.job);
    if (job.is_ended()) board.limits.leave(cluster, job.facts());
    line(event.job);
  }
  void operator()(const ElementRequeued& event) const { line(event.job); }
  void operator()(const ElementsReady& event) const { line(event.job); }
  void operator()(const GateChanged& event) const { line(event.job); }
  void operator()(const ArrayThrottled& event) const { line(event.job); }
  void operator()(const JobChanged& event) const {
    if (board.backfill.remove(event.job)) board.ledger.wake();
    line(event.job);
    const Job& job = *cluster.find_job(event.job);
    if (!job.is_ended()) board.limits.enter(cluster, job.facts());
    each_attempt(cluster, event.job, [&](const Attempt& attempt) {
      board.limits.begin(cluster, attempt);
      if (event.time_limit) horizon(attempt.key);
    });
  }
  void operator()(const AttemptStarted& event) const {
    board.ledger.take(event.place);
    board.backfill.remove(event.key.element_key());
    horizon(event.key);
    board.limits.begin(cluster, *cluster.find_attempt(event.key));
    line(event.key.job);
  }
  void operator()(const RoomFreed& event) const { board.book(cluster, event.room); }
  void operator()(const AttemptStopping& event) const {
    horizon(event.key);
    board.limits.quotas.begin(cluster, *cluster.find_attempt(event.key));
  }
  void operator()(const AttemptLaunched& event) const {
    board.order.forecast.launched(cluster, event.key);
    horizon(event.key);
    board.order.shares.launched(cluster, event.key);
    board.limits.begin(cluster, *cluster.find_attempt(event.key));
  }
  template <class Other>
  void operator()(const Other&) const {}

  // What is planned was planned without it.
  void reserve() const {
    board.calendar.rebuild(cluster);
    board.ledger.wake();
  }
  void refresh(NodeId node) const {
    board.ledger.refresh_node(cluster, node);
    board.horizon.refresh_node(cluster, node);
  }
  void horizon(const AttemptKey& key) const {
    board.horizon.refresh({cluster, board.order.forecast, cluster.applied_at()}, key);
    board.licences.take(cluster, key);
  }
  void line(JobId id) const {
    board.line.refresh(cluster, board.order, id);
    const Job* job = cluster.find_job(id);
    // What was kept free for it may be taken.
    if (job == nullptr ? board.backfill.remove(id) : board.backfill.remove_unwanted(*job))
      board.ledger.wake();
  }
};

}  // namespace

void Board::rebuild(const Cluster& cluster) {
  ledger.rebuild(cluster);
  licences.rebuild(cluster);
  calendar.rebuild(cluster);
  order.rebuild(cluster);
  horizon.rebuild({cluster, order.forecast, cluster.applied_at()});
  backfill = Backfill();
  for (const auto& [element, room] : cluster.rooms()) {
    if (room.is_kept(cluster.applied_at())) book(cluster, room);
  }
  line.rebuild(cluster, order);
  gates.rebuild(cluster);
  limits.rebuild(cluster);
}

void Board::book(const Cluster& cluster, const FreedRoom& room) {
  const std::shared_ptr<const JobTerms>& terms = cluster.find_job(room.job)->facts().terms;
  backfill.book(present(cluster, cluster.applied_at()),
                {room.key(), terms, room.time, nullptr, is_predicted(cluster, *terms)}, room);
}

void Board::rebuild_limits(const Cluster& cluster) {
  limits.rebuild(cluster);
  ledger.wake();  // What a limit held back may start.
}

void Board::before(const Cluster& cluster, const Event& event) {
  std::visit(Before{*this, cluster}, event);
  gates.before(cluster, event);
}

void Board::after(const Cluster& cluster, const Event& event) {
  std::visit(Afterwards{*this, cluster}, event);
  gates.after(cluster, event);
}

}  // namespace muster
