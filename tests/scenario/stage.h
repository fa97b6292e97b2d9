// Where a scenario is played: the engine, its workers, the clock, and names for what was submitted.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/scenario/statement.h"
#include "tests/unit/core/fake_fleet.h"

namespace muster::scenario {

class Stage {
 public:
  Stage();

  // Runs all statements; the first that fails ends it, with its line.
  Result<void> play(const std::vector<Statement>& statements);

 private:
  friend class Expectation;
  using Verb = Result<void> (Stage::*)(const Statement&);
  static const std::map<std::string, Verb>& verbs();

  Result<void> run(const Statement& statement);
  Result<void> advance(Duration to);
  void begin();
  Outcome command(const Command& command);  // Of a person: its answer is kept for expect.
  Result<void> check_answered(const Statement& next) const;

  Result<void> queue(const Statement& statement);
  Result<void> account(const Statement& statement);
  Result<void> limits(const Statement& statement);
  Result<void> topology(const Statement& statement);
  Result<void> licence(const Statement& statement);
  Result<void> qos(const Statement& statement);
  Result<void> user(const Statement& statement);
  Result<void> points(const Statement& statement);
  Result<void> node(const Statement& statement);
  Result<void> submit(const Statement& statement);
  Result<void> again(const Statement& statement);
  Result<void> person(const Statement& statement);
  Result<void> set(const Statement& statement);
  Result<void> end(const Statement& statement);
  Result<void> nodes(const Statement& statement);
  Result<void> worker(const Statement& statement);
  Result<void> restart(const Statement& statement);
  Result<void> fed(const Statement& statement);
  Result<void> reserve(const Statement& statement);
  Result<void> unreserve(const Statement& statement);
  Result<void> wall_clock(const Statement& statement);
  Result<void> estimate(const Statement& statement);
  Result<void> expect(const Statement& statement);

  // The wall clock, as it stood at the beginning, after so much of the scenario.
  WallTime wall_at(const std::string& time) const;
  Requester requester(const Statement& statement) const;
  Result<ElementKey> element(const std::string& name, bool* given = nullptr) const;
  Result<JobSelection> selection(const Statement& statement) const;
  Result<NewJob> job_of(const Statement& statement) const;
  Result<Depends> depends_of(const std::string& text) const;
  WallTime wall_of(const std::string& text) const;
  Result<void> gate_of(const Statement& statement, JobSpec& spec) const;

  World world_;
  FakeFleet fleet_;
  ClusterConfig config_;
  bool began_ = false;
  Duration clock_;
  const WallTime start_ = World().now().wall;
  std::map<std::string, JobId> jobs_;
  std::map<std::string, SubmitJobs> requests_;
  Reply reply_;                // Of the last command of a person.
  bool refusal_open_ = false;  // Refused, and nobody has expected it yet.
};

}  // namespace muster::scenario
