// Comparing what is with what a scenario expects.
#include <algorithm>

#include "tests/scenario/stage.h"

namespace muster::scenario {

class Expectation {
 public:
  Expectation(const Stage& stage, const Statement& statement)
      : stage_(stage), statement_(statement) {}

  Result<void> check() {
    const std::string& first = word(0);
    if (first == "refused") return check_refused();
    if (first == "note") return check_note();
    if (first == "node") return check_node();
    if (first == "gone") return check_gone();
    if (first == "reservation") return check_reservation();
    if (first == "estimates") return check_estimates();
    const Result<ElementKey> key = stage_.element(first);
    if (!key) return key.error();
    key_ = *key;
    job_ = cluster().find_job(key_.job);
    if (job_ == nullptr) return wrong("to be known", "forgotten");
    return check_job();
  }

 private:
  const Cluster& cluster() const { return stage_.world_.engine.cluster(); }
  std::string word(std::size_t index) const {
    return index < statement_.words.size() ? statement_.words[index] : "";
  }
  static Error wrong(const std::string& expected, const std::string& got) {
    return fail(ErrorCode::kInvalid, "expected " + expected + ", got " + got);
  }
  static Result<void> contains(const std::string& text, const std::string& part,
                               const std::string& what) {
    if (text.find(part) != std::string::npos) return {};
    return wrong(what + " with \"" + part + "\"", "\"" + text + "\"");
  }

  Result<void> check_refused() {
    if (!stage_.refusal_open_) return wrong("a refusal", "an answer");
    return contains(stage_.reply_.error->message, word(1), "a refusal");
  }

  Result<void> check_note() {
    std::string all;
    for (const std::string& note : stage_.reply_.notes) all += note + "\n";
    return contains(all, word(1), "notes");
  }

  Result<void> check_node() {
    const Node* node = cluster().find_node(word(1));
    if (node == nullptr)
      return word(2) == "gone" ? Result<void>() : wrong("node " + word(1), "none");
    const std::string state(name_of(node->state));
    if (state != word(2)) return wrong("node " + word(1) + " " + word(2), state);
    const Drain& drain = node->drain;
    const std::string since = drain.since == WallTime{} ? "" : to_rfc3339(drain.since);
    return check_options(Options{{"reason", node->drained ? drain.reason : node->reason},
                                 {"by", drain.by},
                                 {"since", since}});
  }

  Result<void> check_estimates() {
    const EstimateSum sum = cluster().estimates().sum(word(1));
    return check_options(
        Options{{"n", std::to_string(sum.count)}, {"held", std::to_string(sum.most_held)}});
  }

  Result<void> check_gone() {
    const auto job = stage_.jobs_.find(word(1));
    if (job == stage_.jobs_.end()) return wrong("a job", "no job called " + word(1));
    if (cluster().find_job(job->second) != nullptr)
      return wrong("to be forgotten", "still in memory");
    if (cluster().forgotten_end(job->second)) return {};
    return wrong("an end that is remembered", "nothing");
  }

  Result<void> check_reservation() {
    const Reservation* known = cluster().find_reservation(word(1));
    if (word(2) == "gone")
      return known == nullptr ? Result<void>() : wrong("no reservation " + word(1), "one");
    if (known == nullptr) return wrong("reservation " + word(1), "none");
    std::string nodes;
    for (const std::string& node : known->nodes) nodes += (nodes.empty() ? "" : ",") + node;
    return check_options(Options{{"nodes", nodes}, {"for", to_text(known->duration)}});
  }

  std::string describe() const {
    if (job_ == nullptr) return "no job";
    const ElementState state = *job_->state_of(key_.element);
    std::string text(name_of(state));
    if (const Attempt* attempt = cluster().find_attempt(key_)) {
      text += ", attempt " + std::to_string(attempt->key.attempt.value) + " " +
              std::string(name_of(attempt->state)) + " on " + nodes_of(*attempt);
    }
    if (const auto ending = job_->find_ending(key_.element)) {
      const Cause& cause = ending->cause;
      text += ": " + std::string(name_of(cause.kind)) +
              " status=" + std::to_string(cause.exit_status) +
              " rank=" + std::to_string(cause.rank) + " on=" + cause.node + " by=" + cause.by +
              " " + cause.evidence;
    }
    if (const auto why = stage_.world_.engine.explain(key_, stage_.world_.at)) {
      text += ", " + std::string(name_of(why->reason)) + ": " + why->sentence;
    }
    return text;
  }

  std::string nodes_of(const Attempt& attempt) const {
    std::string text;
    for (const Member& member : attempt.place->members) {
      text += (text.empty() ? "" : ",") + cluster().find_node(member.node)->name;
    }
    return text;
  }

  // "0-3;0-1": per member, in rank order.
  std::string gpus_of(const Attempt& attempt) const {
    std::string text;
    for (const Member& member : attempt.place->members) {
      if (&member != &attempt.place->members.front()) text += ";";
      const Node& node = *cluster().find_node(member.node);
      std::vector<std::uint32_t> indices;
      for (const Grant& grant : member.grants) {
        for (std::size_t i = 0; i < node.device_ids.size(); ++i) {
          if (node.device_ids[i] == grant.device) indices.push_back(node.inventory.gpus[i].index);
        }
      }
      for (std::size_t i = 0; i < indices.size();) {
        std::size_t last = i;
        while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
        text += (i == 0 ? "" : ",") + std::to_string(indices[i]);
        if (last != i) text += "-" + std::to_string(indices[last]);
        i = last + 1;
      }
    }
    return text;
  }

  Result<void> check_job() {
    const std::string what = word(1);
    if (what == "counts") return check_counts();
    if (what == "charged") return check_charged();
    if (what == "says") return check_says();
    if (what == "ended") return check_ended();
    if (what == "running" || what == "preparing" || what == "stopping") return check_attempt();
    if (what == "waiting" || what == "held" || what.empty()) return check_waiting();
    return fail(ErrorCode::kInvalid, "expect does not know \"" + what + "\"");
  }

  Result<void> check_option(const std::string& key, const std::string& got) const {
    const std::string expected = statement_.option(key, got);
    return expected == got ? Result<void>()
                           : wrong(key + "=" + expected, got + " (" + describe() + ")");
  }

  template <class Pair>
  Result<void> check_options(const std::vector<Pair>& pairs) const {
    for (const auto& [key, got] : pairs) {
      if (const Result<void> checked = check_option(key, got); !checked) return checked;
    }
    return {};
  }
  using Options = std::vector<std::pair<std::string, std::string>>;

  Result<void> check_attempt() {
    const Attempt* attempt = cluster().find_attempt(key_);
    if (attempt == nullptr || name_of(attempt->state) != word(1)) return wrong(word(1), describe());
    return check_options(Options{{"on", nodes_of(*attempt)},
                                 {"gpus", gpus_of(*attempt)},
                                 {"attempt", std::to_string(attempt->key.attempt.value)},
                                 {"master", attempt->master_address()}});
  }

  Result<void> check_ended() {
    const auto ending = job_->find_ending(key_.element);
    if (!ending) return wrong("ended", describe());
    const Cause& cause = ending->cause;
    if (!word(2).empty() && name_of(cause.kind) != word(2))
      return wrong("ended " + word(2), describe());
    if (cause.by.find(statement_.option("by")) == std::string::npos)
      return wrong("by " + statement_.option("by"), describe());
    return check_options(Options{{"status", std::to_string(cause.exit_status)},
                                 {"rank", std::to_string(cause.rank)},
                                 {"on", cause.node}});
  }

  Result<void> check_waiting() {
    const auto why = stage_.world_.engine.explain(key_, stage_.world_.at);
    if (!why) return wrong("waiting", describe());
    if (word(1) == "held" && why->reason != WaitReason::kHeld) return wrong("held", describe());
    std::uint32_t sum = why->nodes_fit;
    for (const Blocker& blocker : why->blockers) sum += blocker.nodes_failing;
    if (sum != why->nodes_total)
      return wrong("counts that add up to " + std::to_string(why->nodes_total), describe());
    std::string frees;
    for (const auto& [name, id] : stage_.jobs_) {
      if (why->frees_last && why->frees_last->job == id) frees = name;
    }
    const std::string start =
        why->start_latest ? to_text(*why->start_latest - stage_.world_.at) : "";
    const auto from_now = [&](const std::optional<Instant>& at) {
      return at ? to_text(*at - stage_.world_.at) : "none";
    };
    const std::string planned = why->planned_at ? to_text(*why->planned_at - stage_.world_.at) : "";
    return check_options(Options{{"reason", std::string(name_of(why->reason))},
                                 {"fits", std::to_string(why->nodes_fit)},
                                 {"needs", std::to_string(why->nodes_needed)},
                                 {"of", std::to_string(why->nodes_total)},
                                 {"ahead", std::to_string(why->jobs_ahead)},
                                 {"frees_last", frees},
                                 {"start", start},
                                 {"planned", planned},
                                 {"limit", why->limit_max ? to_text(*why->limit_max) : ""},
                                 {"half", from_now(why->start_half)},
                                 {"most", from_now(why->start_most)}});
  }

  Result<void> check_says() {
    const auto why = stage_.world_.engine.explain(key_, stage_.world_.at);
    if (!why) return wrong("an explanation", describe());
    return contains(why->sentence, word(2), "an explanation");
  }

  Result<void> check_counts() {
    Options options;
    for (std::size_t i = 0; i < kElementStates; ++i) {
      const auto state = static_cast<ElementState>(i);
      options.emplace_back(std::string(name_of(state)), std::to_string(job_->count(state)));
    }
    return check_options(options);
  }

  Result<void> check_charged() {
    std::uint64_t gpu = 0;
    std::uint64_t cpu = 0;
    for (const Record& record : stage_.world_.journal) {
      for (const Event& event : record.events) {
        const auto* ended = std::get_if<AttemptEnded>(&event);
        if (ended == nullptr || ended->key.job != key_.job) continue;
        gpu += ended->gpu_milli_ms;
        cpu += ended->cpu_ms;
      }
    }
    return check_options(
        Options{{"gpu_s", std::to_string(gpu / 1000000)}, {"cpu_s", std::to_string(cpu / 1000)}});
  }

  const Stage& stage_;
  const Statement& statement_;
  ElementKey key_;
  const Job* job_ = nullptr;
};

Result<void> Stage::expect(const Statement& statement) {
  const Result<void> checked = Expectation(*this, statement).check();
  if (statement.has("refused")) refusal_open_ = false;
  return checked;
}

}  // namespace muster::scenario
