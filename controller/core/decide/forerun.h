// One look ahead: the line, as it stands, is started on a copy of the books while what runs ends,
// several times over with ends drawn from the learned run times. Half of the draws start a job by
// its `half`, nine of ten by its `most`. What is drawn follows from keys alone (a Latin hypercube
// over the draws), so the same books give the same answer. Nothing that comes later is foreseen:
// new jobs, new priorities, preemption, nodes that break or come back. Jobs that wait for others
// are let through when these have started or ended, and are taken to succeed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/types/ids.h"
#include "base/types/time.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/backfill.h"
#include "controller/core/decide/board.h"

namespace muster {

constexpr std::uint32_t kDrawsMax = 9;  // One when nothing is known but limits.
constexpr std::uint32_t kPlacesPerDrawMax = 50000;
constexpr std::uint64_t kWorkPerDrawMax = 20'000'000;
constexpr std::size_t kWaitersPerLaneMax = 20000;  // Others of the lane follow at its rate.
constexpr Duration kAheadMax = days(60);
constexpr std::size_t kDependentsMax = 5000;  // Of more jobs that wait for others nothing is said.

struct StartEstimate {
  JobId job;
  Instant half;
  Instant most;
};

// A later element of an array: so many of those that were pending start before it. Told are the
// second, the fourth, the eighth and so on, and the last.
struct ElementStart {
  JobId job;
  std::uint32_t before = 0;
  std::uint32_t pending = 0;  // When the look ahead began.
  Instant half;
  Instant most;
};

// A job that is not in line, and what it would be counted by there. It takes nothing from others.
struct Newcomer {
  std::shared_ptr<const JobFacts> facts;
  Turn turn;
};

struct ForeDesk {
  const Cluster& cluster;
  Board& board;
};

class ForeRun {
 public:
  // Copies the books.
  ForeRun(const ForeDesk& desk, Instant now, std::vector<Newcomer> newcomers = {});
  // Does about so much work (one is a look at a node). True when it is over.
  bool advance(const ForeDesk& desk, std::uint64_t work);
  // The configuration has changed meanwhile: there is no answer.
  bool is_void() const { return void_; }
  Instant began_at() const { return began_; }
  // When it is over, by job. Without those for which no start is in sight.
  std::vector<StartEstimate> take_starts() { return std::move(starts_); }
  std::vector<ElementStart> take_elements() { return std::move(elements_); }
  // Nothing but time limits told how long jobs run.
  bool goes_by_limits() const { return draws_ == 1; }
  // Of the newcomers, in their order.
  const std::vector<std::optional<StartEstimate>>& newcomers() const { return newcomer_starts_; }

 private:
  static constexpr Instant kNever{-1};
  struct Waiter {
    std::shared_ptr<const JobFacts> facts;
    Element element;             // The next one.
    std::uint32_t elements = 1;  // Pending.
    std::uint32_t running = 0;   // Of an array with a limit of its own.
    Instant ready;
    std::int64_t position = 0;
    // Of the draw under way.
    std::uint32_t left = 0;
    std::uint32_t active = 0;
    std::uint32_t allowed = 0;    // Elements that may have started by now.
    std::vector<Instant> starts;  // By draw.
    std::vector<Instant> later;   // Of the elements that are told, draw by draw.
    bool gated = false;
  };
  // What holds a waiter back.
  struct ForeGate {
    std::uint32_t lane = 0;
    bool any = false;
    bool corr = false;       // Each element waits for its like.
    std::uint32_t open = 0;  // Conditions that have not come.
    Instant ready;           // Not sooner.
    // Of the draw under way.
    std::uint32_t left = 0;
    Instant at;
    bool is_open = false;
  };
  struct Watch {
    std::uint32_t gate = 0;
    After kind = After::kAny;
    std::optional<Element> element;
    Duration delay;
    bool met = false;  // In the draw under way.
  };
  struct Watched {
    std::vector<Watch> watches;
    std::uint32_t unstarted = 0;  // Elements.
    std::uint32_t unended = 0;
    // Of the draw under way.
    std::uint32_t to_start = 0;
    std::uint32_t to_end = 0;
  };
  struct Queued {
    Turn turn;  // Of its lane; the rest is its waiters'.
    std::uint32_t shape = 0;
    bool newcomer = false;
    std::vector<std::uint32_t> limits;
    std::vector<Waiter> waiters;
    std::size_t first = 0;      // Not started yet in this draw.
    std::vector<JobId> behind;  // Beyond those waiters.
  };
  struct Running {
    AttemptKey key;
    std::shared_ptr<const Place> place;
    std::shared_ptr<const JobFacts> facts;
    Instant since;
    Instant limit;
    bool stopping = false;
  };
  struct End {
    Instant at;
    AttemptKey key;
    std::shared_ptr<const Place> place;
    std::shared_ptr<const JobFacts> facts;
    std::optional<std::pair<std::uint32_t, std::uint32_t>> waiter;  // Lane and place in it.
  };
  struct Tally {
    LimitScope scope;
    Limits limits;
    std::uint64_t running = 0;
    Holding held;
  };
  struct Books {
    Ledger ledger;
    Horizon horizon;
    Licences licences;
    Backfill backfill;
    std::vector<Tally> tallies;
  };
  struct Candidate {
    Turn turn;
    std::uint32_t lane = 0;
    std::uint32_t at = 0;
    bool operator<(const Candidate& other) const { return other.turn < turn; }
  };
  enum class Phase : std::uint8_t { kCollect, kBegin, kDraw, kSettle, kOver };

  bool collect(const ForeDesk& desk, std::uint64_t& work);
  // Those that wait for others or for a time.
  bool collect_dependents(const ForeDesk& desk, std::uint64_t& work);
  void add_dependent(const ForeDesk& desk, const Job& job);
  bool add_conditions(const ForeDesk& desk, const Job& job, ForeGate& gate);
  void watch(const ForeDesk& desk, JobId target, const Watch& watch);
  void close_gates();
  void open(ForeGate& gate);
  void meet(Watch& watch, Instant at);
  void note_start(const AttemptKey& key);
  void note_end(const AttemptKey& key);
  void add_lane(const ForeDesk& desk, const Lane& lane, std::uint64_t& work);
  void add_newcomers(const ForeDesk& desk);
  Waiter waiter_of(const Job& job, const LaneEntry& entry) const;
  std::vector<std::uint32_t> tallies_of(const ForeDesk& desk, const LimitParty& party);
  void begin_draw(const ForeDesk& desk);
  bool draw(const ForeDesk& desk, std::uint64_t& work);
  bool begin_moment(const ForeDesk& desk);
  void end_one(const ForeDesk& desk);
  void look_at(const ForeDesk& desk, const Candidate& candidate, std::uint64_t& work);
  void push(std::uint32_t lane, std::size_t at);
  void start(const ForeDesk& desk, const Candidate& candidate, Place place);
  void plan(const ForeDesk& desk, const Candidate& candidate, std::uint64_t& work);
  bool may_plan(const ForeDesk& desk, const Queued& lane, const Waiter& waiter) const;
  bool is_limited(const Queued& lane, const JobTerms& terms) const;
  void count(const ForeDesk& desk, const JobFacts& facts, const Place& place, bool begins);
  Present present(const ForeDesk& desk) const;
  Duration likely_time(const ForeDesk& desk, const JobFacts& facts) const;
  Duration drawn_time(const ForeDesk& desk, const JobFacts& facts, ElementKey key,
                      Duration age) const;
  bool settle(std::uint64_t& work);
  void settle_lane(const Queued& lane);
  void settle_elements(const Waiter& waiter);
  std::optional<std::pair<Instant, Instant>> chances_of(std::vector<Instant>& starts) const;

  Phase phase_ = Phase::kCollect;
  bool void_ = false;
  std::uint64_t config_version_ = 0;
  Instant began_;
  std::vector<Newcomer> asked_;
  Books base_;
  std::vector<Running> running_;
  std::vector<Queued> lanes_;
  LaneId lane_next_ = 0;
  std::size_t in_line_ = 0;  // So many lanes are not gated.
  bool line_is_read_ = false;
  JobId dependent_last_;
  std::vector<ForeGate> gates_;
  std::map<JobId, Watched> watched_;
  std::map<ShapeId, std::uint32_t> shapes_;
  std::uint32_t shapes_count_ = 0;
  std::uint32_t draws_ = 1;

  // Of the draw under way.
  std::uint32_t draw_ = 0;
  Instant now_;
  Books books_;
  std::vector<End> ends_;                   // A heap, the next on top.
  std::vector<std::uint32_t> let_through_;  // Lanes whose gate is open.
  std::set<Instant> wakes_;                 // When a waiter becomes ready.
  std::vector<Candidate> heap_;             // Not looked at yet in this moment.
  std::vector<bool> refused_;               // By shape, in this moment.
  std::vector<bool> unplannable_;           // The same.
  std::uint32_t placed_ = 0;
  std::uint64_t worked_ = 0;
  std::uint64_t waiting_ = 0;  // Waiters that have not started yet.
  std::uint64_t newcomers_waiting_ = 0;

  std::size_t settled_ = 0;
  std::vector<StartEstimate> starts_;
  std::vector<ElementStart> elements_;
  std::vector<std::optional<StartEstimate>> newcomer_starts_;
};

}  // namespace muster
