// Going through the line.
#include "controller/core/decide/schedule.h"

#include "controller/core/decide/place.h"

namespace muster {
namespace {

constexpr int kBackingOffMax =
    64;  // Elements of one array looked at before the job is passed over.

using Candidate = std::pair<Turn, ShapeId>;

class Pass {
 public:
  Pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor)
      : desk_(desk), budget_(budget), cursor_(cursor), line_(desk.board.line) {}

  bool run() {
    if (cursor_.resume)
      take_up();
    else
      cursor_.round_generation = desk_.board.ledger.generation();
    while (const std::optional<Candidate> candidate = next()) {
      if (is_spent()) {
        cursor_.resume = candidate->first;
        return true;
      }
      look_at(*candidate);
    }
    cursor_.resume.reset();
    return desk_.board.ledger.generation() != cursor_.round_generation;
  }

 private:
  bool is_spent() const {
    return refused_ >= budget_.shapes_max || placed_ >= budget_.placements_max ||
           looks_ >= kLooksPerPassMax;
  }

  // Shapes whose first job lies before the cursor may have more jobs behind it.
  void take_up() {
    at_ = Candidate{*cursor_.resume, ShapeId{0}};
    for (const auto& [turn, id] : line_.heads()) {
      if (!(turn < *cursor_.resume)) break;
      if (turn.queue_priority != at_->first.queue_priority) continue;
      if (turn.priority != at_->first.priority) continue;
      const Shape& shape = line_.shapes().at(id);
      const auto rest = shape.jobs.lower_bound({at_->first.position, at_->first.job});
      if (rest != shape.jobs.end()) later_.emplace(shape.turn_of(*rest), id);
    }
  }

  std::optional<Candidate> next() {
    const auto head = at_ ? line_.heads().upper_bound(*at_) : line_.heads().begin();
    const bool has_head = head != line_.heads().end();
    if (!has_head && later_.empty()) return std::nullopt;
    if (!has_head || (!later_.empty() && *later_.begin() <= *head)) {
      const Candidate candidate = *later_.begin();
      later_.erase(later_.begin());
      if (has_head && candidate == *head) at_ = candidate;
      return candidate;
    }
    at_ = *head;
    return *head;
  }

  void look_at(const Candidate& candidate) {
    ++looks_;
    const auto found = line_.shapes().find(candidate.second);
    if (found == line_.shapes().end()) return;
    const Shape& shape = found->second;
    if (shape.refused_at == desk_.board.ledger.generation()) return;
    const Job& job = *desk_.cluster.find_job(candidate.first.job);
    const std::optional<Element> element = next_startable(job, desk_.now);
    if (!element) return queue_next(shape, candidate.first);
    std::optional<Place> place = place_element(desk_.cluster, desk_.board.ledger, job, *element);
    if (!place) return refuse(shape, candidate.first, job, *element);
    ++placed_;
    const ElementRecord* record = job.find_record(*element);
    const AttemptNo attempt{record == nullptr ? 1 : record->attempts + 1};
    const ShapeId id = shape.id;
    queue_next(shape, candidate.first);
    desk_.start(AttemptStarted{{candidate.first.job, *element, attempt}, std::move(*place)});
    const Job* after = desk_.cluster.find_job(candidate.first.job);
    if (after != nullptr && after->count(ElementState::kPending) != 0)
      later_.emplace(candidate.first, id);
  }

  void refuse(const Shape& shape, const Turn& turn, const Job& job, Element element) {
    ++refused_;
    const ElementRecord* record = job.find_record(element);
    if (record != nullptr && !record->nodes_avoided.empty()) return queue_next(shape, turn);
    line_.set_refused(shape.id, desk_.board.ledger.generation());
  }

  void queue_next(const Shape& shape, const Turn& turn) {
    const auto after = shape.jobs.upper_bound({turn.position, turn.job});
    if (after != shape.jobs.end()) later_.emplace(shape.turn_of(*after), shape.id);
  }

  PassDesk& desk_;
  const PassBudget& budget_;
  PassCursor& cursor_;
  Line& line_;
  std::optional<Candidate> at_;  // The last head seen.
  std::set<Candidate> later_;    // Jobs behind the first of their shape.
  std::uint32_t refused_ = 0;
  std::uint32_t placed_ = 0;
  std::uint32_t looks_ = 0;
};

// Whether enough nodes that are up could ever hold every group without the avoided ones.
bool can_avoid(const Cluster& cluster, const Ledger& ledger, const JobTerms& terms,
               const std::set<NodeId>& avoided) {
  const QueueConfig* queue = cluster.find_queue(terms.queue);
  if (queue == nullptr) return true;
  for (const Group& group : terms.groups) {
    const GroupNeed need = need_of(cluster, *queue, group);
    std::uint32_t able = 0;
    for (const NodeFree& node : ledger.nodes()) {
      if (!node.exists || !in_queue(need, ledger.classes()[node.node_class])) continue;
      const NodeClass& node_class = ledger.classes()[node.node_class];
      if (first_failed(need, node, node_class, avoided) > Constraint::kAvoided) ++able;
    }
    if (able < group.nodes_min) return false;
  }
  return true;
}

}  // namespace

bool run_pass(PassDesk& desk, const PassBudget& budget, PassCursor& cursor) {
  return Pass(desk, budget, cursor).run();
}

std::optional<Element> next_startable(const Job& job, Instant now) {
  const std::uint32_t running_max = job.facts().terms->array.running_max;
  if (running_max != 0 && job.count(ElementState::kActive) >= running_max) return std::nullopt;
  Element from{0};
  for (int i = 0; i < kBackingOffMax; ++i) {
    const std::optional<Element> element = job.first_in(ElementState::kPending, from);
    if (!element) return std::nullopt;
    const ElementRecord* record = job.find_record(*element);
    if (record == nullptr || record->not_before <= now) return element;
    from = Element{element->value + 1};
  }
  return std::nullopt;
}

std::set<NodeId> avoided_nodes(const Cluster& cluster, const Ledger& ledger, const Job& job,
                               Element element) {
  const ElementRecord* record = job.find_record(element);
  if (record == nullptr || record->nodes_avoided.empty()) return {};
  std::set<NodeId> avoided(record->nodes_avoided.begin(), record->nodes_avoided.end());
  if (!can_avoid(cluster, ledger, *job.facts().terms, avoided)) avoided.clear();
  return avoided;
}

std::optional<Place> place_element(const Cluster& cluster, const Ledger& ledger, const Job& job,
                                   Element element) {
  return find_place(cluster, ledger, *job.facts().terms,
                    avoided_nodes(cluster, ledger, job, element));
}

}  // namespace muster
