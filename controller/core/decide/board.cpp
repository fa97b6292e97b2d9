// Following the events.
#include "controller/core/decide/board.h"

namespace muster {
namespace {

struct Before {
  Board& board;
  const Cluster& cluster;
  void operator()(const JobChanged& event) const { board.line.remove(cluster, event.job); }
  void operator()(const JobForgotten& event) const { board.line.remove(cluster, event.job); }
  void operator()(const AttemptEnded& event) const {
    const Attempt& attempt = *cluster.find_attempt(event.key);
    board.ledger.give(*attempt.place);
    board.horizon.remove(attempt);
    board.licences.give(cluster.find_job(event.key.job)->facts().terms->licences);
    board.order.shares.ended(event.key);
  }
  template <class Other>
  void operator()(const Other&) const {}
};

struct After {
  Board& board;
  const Cluster& cluster;
  void operator()(const ConfigApplied&) const { board.rebuild(cluster); }
  void operator()(const NodeEnrolled& event) const { refresh(event.node); }
  void operator()(const NodeReported& event) const { refresh(event.node); }
  void operator()(const NodeStateChanged& event) const { refresh(event.node); }
  void operator()(const NodeRemoved& event) const { refresh(event.node); }
  void operator()(const JobSubmitted& event) const {
    board.ledger.note_arrival(event.job, cluster.find_job(event.job)->facts().terms);
    line(event.job);
  }
  void operator()(const ElementsHeld& event) const { line(event.job); }
  void operator()(const ElementsReleased& event) const { line(event.job); }
  void operator()(const ElementsEnded& event) const { line(event.job); }
  void operator()(const ElementRequeued& event) const { line(event.job); }
  void operator()(const JobChanged& event) const {
    if (board.backfill.remove(event.job)) board.ledger.wake();
    line(event.job);
    if (!event.time_limit) return;
    const auto& attempts = cluster.attempts();
    for (auto it = attempts.lower_bound(AttemptKey{event.job, {}, {}});
         it != attempts.end() && it->first.job == event.job; ++it)
      board.horizon.refresh(cluster, it->first);
  }
  void operator()(const AttemptStarted& event) const {
    board.ledger.take(event.place);
    board.licences.take(cluster.find_job(event.key.job)->facts().terms->licences);
    board.horizon.refresh(cluster, event.key);
    line(event.key.job);
  }
  void operator()(const AttemptLaunched& event) const {
    board.horizon.refresh(cluster, event.key);
    board.order.shares.launched(cluster, event.key);
  }
  template <class Other>
  void operator()(const Other&) const {}

  void refresh(NodeId node) const {
    board.ledger.refresh_node(cluster, node);
    board.horizon.refresh_node(cluster, node);
  }
  void line(JobId id) const {
    board.line.refresh(cluster, board.order, id);
    const Job* job = cluster.find_job(id);
    const bool waits = job != nullptr && job->count(ElementState::kPending) != 0;
    // What was kept free for it may be taken.
    if (!waits && board.backfill.remove(id)) board.ledger.wake();
  }
};

}  // namespace

void Board::rebuild(const Cluster& cluster) {
  ledger.rebuild(cluster);
  horizon.rebuild(cluster);
  licences.rebuild(cluster);
  backfill.clear();
  order.rebuild(cluster);
  line.rebuild(cluster, order);
}

void Board::before(const Cluster& cluster, const Event& event) {
  std::visit(Before{*this, cluster}, event);
}

void Board::after(const Cluster& cluster, const Event& event) {
  std::visit(After{*this, cluster}, event);
}

}  // namespace muster
