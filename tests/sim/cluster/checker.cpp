// What must hold, whatever happens.
#include "tests/sim/cluster/checker.h"

#include "base/types/hash.h"

namespace muster::sim {

void Trace::note(Instant at, const std::string& line) {
  hash_ = combine64(combine64(hash_, static_cast<std::uint64_t>(at.us)), hash64(line));
  if (keeps_) lines_.push_back(std::to_string(at.us) + " " + line);
}

void Checker::violate(const std::string& what) {
  if (violation_.empty()) violation_ = what;
}

// One durable event against the model of where everything stands.
struct Checker::Follow {
  Checker& checker;
  const Record& record;

  ElementModel* element_of(JobId job, Element element, const char* what) const {
    const auto found = checker.jobs_.find(job);
    if (found != checker.jobs_.end()) {
      const auto model = found->second.find(element);
      if (model != found->second.end()) return &model->second;
    }
    checker.violate(std::string("I4: ") + what + " of an element that was never submitted, job " +
                    std::to_string(job.value));
    return nullptr;
  }

  template <class Change>
  void each(JobId job, const std::vector<IndexRange>& ranges, const char* what,
            Change change) const {
    for (const IndexRange& range : ranges) {
      for (std::uint64_t i = range.first; i <= range.last; i += range.step) {
        ElementModel* model = element_of(job, Element{static_cast<std::uint32_t>(i)}, what);
        if (model == nullptr) return;
        change(*model);
      }
    }
  }

  void expect(bool condition, const std::string& what) const {
    if (!condition)
      checker.violate("I4: " + what + " in record " + std::to_string(record.seq.value));
  }

  void operator()(const JobSubmitted& event) const {
    auto& elements = checker.jobs_[event.job];
    expect(elements.empty(), "job " + std::to_string(event.job.value) + " submitted twice");
    checker.requests_[event.job] = event.request;
    ElementModel first;
    first.state = event.spec.hold ? ElementState::kHeld : ElementState::kPending;
    if (event.spec.array.ranges.empty()) elements[Element{0}] = first;
    for (const IndexRange& range : event.spec.array.ranges) {
      for (std::uint32_t i = range.first; i <= range.last; i += range.step)
        elements[Element{i}] = first;
    }
  }
  void operator()(const ElementsHeld& event) const {
    each(event.job, event.elements, "hold", [&](ElementModel& model) {
      expect(model.state == ElementState::kPending, "hold of what is not pending");
      model.state = ElementState::kHeld;
    });
  }
  void operator()(const ElementsReleased& event) const {
    each(event.job, event.elements, "release", [&](ElementModel& model) {
      expect(model.state == ElementState::kHeld, "release of what is not held");
      model.state = ElementState::kPending;
    });
  }
  void operator()(const ElementsEnded& event) const {
    each(event.job, event.elements, "end", [&](ElementModel& model) {
      expect(model.state != ElementState::kEnded, "second end of an element");
      expect(!model.attempt_live, "end of an element with a live attempt");
      model.state = ElementState::kEnded;
    });
  }
  void operator()(const ElementRequeued& event) const {
    ElementModel* model = element_of(event.job, event.element, "requeue");
    if (model == nullptr) return;
    expect(model->state == ElementState::kActive && !model->attempt_live,
           "requeue of what is not over");
    model->state = event.hold ? ElementState::kHeld : ElementState::kPending;
  }
  void operator()(const JobForgotten& event) const {
    for (const auto& [element, model] : checker.jobs_[event.job]) {
      expect(model.state == ElementState::kEnded, "an unfinished job is forgotten");
    }
    checker.forgotten_.insert(event.job);
  }
  void operator()(const AttemptStarted& event) const {
    ElementModel* model = element_of(event.key.job, event.key.element, "start");
    if (model == nullptr) return;
    expect(model->state == ElementState::kPending, "start of what is not pending");
    expect(event.key.attempt.value == model->attempts + 1, "attempt number out of order");
    *model = {ElementState::kActive, model->attempts + 1, true, false};
    const auto cancel = checker.cancels_.find(event.key.job);
    if (cancel != checker.cancels_.end() && record.seq > cancel->second &&
        checker.wanted_again_.count(event.key.job) == 0) {
      checker.violate("I1: job " + std::to_string(event.key.job.value) +
                      " starts after its cancel was acknowledged");
    }
    checker.live_[event.key] = event.place;
    for (const Member& member : event.place.members) {
      for (const Grant& grant : member.grants) {
        std::uint64_t& milli = checker.granted_[grant.device];
        milli += grant.milli;
        if (milli > kMilliPerGpu) {
          checker.violate("I3: device " + std::to_string(grant.device.value) +
                          " is granted twice, the second time to " + muster::to_text(event.key));
        }
      }
    }
  }
  void operator()(const AttemptLaunched& event) const {
    ElementModel* model = element_of(event.key.job, event.key.element, "launch");
    if (model == nullptr) return;
    expect(model->attempt_live && !model->launched, "launch of what is not prepared");
    model->launched = true;
    checker.launched_.insert(event.key);
  }
  void operator()(const AttemptEnded& event) const {
    ElementModel* model = element_of(event.key.job, event.key.element, "end");
    const auto live = checker.live_.find(event.key);
    if (model == nullptr) return;
    expect(model->attempt_live && live != checker.live_.end(),
           "end of an attempt that does not live");
    model->attempt_live = false;
    if (live == checker.live_.end()) return;
    for (const Member& member : live->second.members) {
      for (const Grant& grant : member.grants) checker.granted_[grant.device] -= grant.milli;
    }
    checker.live_.erase(live);
    if (!checker.running_[event.key.element_key()].empty()) {
      checker.violate("I3: " + muster::to_text(event.key) +
                      " is declared over while its tasks run");
    }
  }
  template <class Other>
  void operator()(const Other&) const {}
};

void Checker::durable(const Record& record) {
  if (record.seq.value != durable_seq_.value + 1) violate("journal: sequence gap");
  durable_seq_ = record.seq;
  for (const Event& event : record.events) std::visit(Follow{*this, record}, event);
}

void Checker::restarted(const Engine& engine) {
  if (engine.seq_last() != durable_seq_) {
    violate("I1: after a restart the journal ends at " + std::to_string(engine.seq_last().value) +
            ", not at " + std::to_string(durable_seq_.value));
  }
  for (const auto& [request, jobs] : acknowledged_) {
    for (const JobId job : jobs) {
      if (engine.cluster().find_job(job) == nullptr &&
          !engine.cluster().forgotten_end(job).has_value()) {
        violate("I1: job " + std::to_string(job.value) + " was acknowledged and is gone");
      }
    }
  }
}

void Checker::submitted(const RequestId& request, const std::vector<JobId>& jobs) {
  const auto [known, is_new] = acknowledged_.emplace(request, jobs);
  if (!is_new && known->second != jobs)
    violate("I8: a repeated request was answered with other jobs");
  for (const JobId job : jobs) {
    const auto owner = requests_.find(job);
    if (owner == requests_.end()) {
      violate("I8: job " + std::to_string(job.value) + " was acknowledged before it was durable");
    } else if (owner->second != request) {
      violate("I1: job " + std::to_string(job.value) + " belongs to another request");
    }
  }
}

void Checker::cancelled(JobId job, Seq seq) {
  if (seq > durable_seq_) violate("I8: a cancel was acknowledged before it was durable");
  cancels_.emplace(job, seq);
}

void Checker::wanted_again(JobId job) { wanted_again_.insert(job); }

void Checker::started(const std::string& node, const AttemptKey& key,
                      const std::vector<std::string>& devices) {
  if (!starts_.emplace(node, key).second)
    violate("I2: " + muster::to_text(key) + " started twice on " + node);
  if (launched_.count(key) == 0) {
    violate("I2: " + muster::to_text(key) + " starts on " + node + " before its launch is durable");
  }
  auto& attempts = running_[key.element_key()];
  ++attempts[key.attempt];
  if (attempts.size() > 1)
    violate("I2: two attempts of one element run at once: " + muster::to_text(key));
  for (const std::string& device : devices) {
    const auto [held, is_free] = holders_.emplace(device, std::pair{node, key});
    if (!is_free) {
      violate("I3: " + device + " is used by " + muster::to_text(held->second.second) + " and " +
              muster::to_text(key));
    }
  }
}

void Checker::stopped(const std::string& node, const AttemptKey& key,
                      const std::vector<std::string>& devices) {
  auto& attempts = running_[key.element_key()];
  if (--attempts[key.attempt] == 0) attempts.erase(key.attempt);
  for (const std::string& device : devices) {
    const auto held = holders_.find(device);
    if (held != holders_.end() && held->second == std::pair{node, key}) holders_.erase(held);
  }
}

}  // namespace muster::sim
