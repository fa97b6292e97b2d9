// Licences: counters of the cluster that running jobs hold some of, and reservations keep some of.
// Counted by events.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/types/job_spec.h"
#include "base/types/result.h"
#include "controller/core/cluster.h"
#include "controller/core/decide/calendar.h"
#include "controller/core/verdict.h"

namespace muster {

struct LicenceUse {
  std::string name;
  std::uint32_t total = 0;
  std::uint64_t used = 0;
  std::uint32_t free = 0;
};

class Licences {
 public:
  // What an attempt has of one, until its end at the latest.
  struct Hold {
    std::uint32_t count = 0;
    Instant end;
    std::string reservation;  // Its job's; empty: none.
  };
  using Holds = std::map<AttemptKey, Hold>;

  void rebuild(const Cluster& cluster);
  // The attempt begins, or its end is another than before.
  void take(const Cluster& cluster, const AttemptKey& key);
  void take(const AttemptKey& key, const JobTerms& terms, Instant end);
  void give(const AttemptKey& key, const JobTerms& terms);

  // Nothing of one that is not configured (any more).
  std::uint32_t total(const std::string& name) const;
  std::uint32_t free(const std::string& name) const;
  const Holds& holds(const std::string& name) const;
  // By name: those that are configured.
  std::vector<LicenceUse> all() const;
  // The first of them that there is too little of now. Null: none.
  const LicenceCount* find_lacking(const std::vector<LicenceCount>& wanted) const;

 private:
  std::map<std::string, std::uint32_t> totals_;
  std::map<std::string, std::uint64_t> used_;
  std::map<std::string, Holds> holds_;  // None empty.
};

// Of a licence there would be too little for a reservation of others that the job would run into.
struct KeptLicence {
  LicenceCount wanted;
  std::uint32_t kept = 0;  // For that reservation.
  Conflict conflict;
};
std::optional<KeptLicence> find_kept(const Licences& licences, const Calendar& calendar,
                                     const JobTerms& terms, Instant now);

// 0 of what is not named.
std::uint32_t count_in(const std::vector<LicenceCount>& counts, const std::string& name);

// One entry a name, in the order of names; refuses what is not configured, with the nearest name.
Result<std::vector<LicenceCount>> check_licences(const Cluster& cluster,
                                                 std::vector<LicenceCount> wanted);

// Refuses a job that asks for more than there are.
Result<void> check_enough(const Cluster& cluster, const std::vector<LicenceCount>& wanted);

// Fills why with who holds what is lacking and whose end makes enough of it free.
void explain_licence(Explanation& why, const Cluster& cluster, const Licences& licences,
                     const LicenceCount& lacking, Instant now);
void explain_kept(Explanation& why, const Calendar& calendar, const JobTerms& terms,
                  const KeptLicence& kept, Instant now);

}  // namespace muster
