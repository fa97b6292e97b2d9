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
    board.ledger.give(*cluster.find_attempt(event.key)->place);
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
  void operator()(const JobSubmitted& event) const { line(event.job); }
  void operator()(const ElementsHeld& event) const { line(event.job); }
  void operator()(const ElementsReleased& event) const { line(event.job); }
  void operator()(const ElementsEnded& event) const { line(event.job); }
  void operator()(const ElementRequeued& event) const { line(event.job); }
  void operator()(const JobChanged& event) const { line(event.job); }
  void operator()(const AttemptStarted& event) const {
    board.ledger.take(event.place);
    line(event.key.job);
  }
  template <class Other>
  void operator()(const Other&) const {}

  void refresh(NodeId node) const { board.ledger.refresh_node(cluster, node); }
  void line(JobId job) const { board.line.refresh(cluster, job); }
};

}  // namespace

void Board::rebuild(const Cluster& cluster) {
  ledger.rebuild(cluster);
  line.rebuild(cluster);
}

void Board::before(const Cluster& cluster, const Event& event) {
  std::visit(Before{*this, cluster}, event);
}

void Board::after(const Cluster& cluster, const Event& event) {
  std::visit(After{*this, cluster}, event);
}

}  // namespace muster
