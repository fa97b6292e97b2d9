// Why a job waits, with numbers that add up, from the ledger as it is now.
#pragma once

#include <optional>
#include <string>

#include "controller/core/decide/board.h"
#include "controller/core/verdict.h"

namespace muster {

// The ledger is tried on and put back. Null when the element is neither pending nor held.
std::optional<Explanation> explain_element(const Cluster& cluster, Board& board, ElementKey key,
                                           Instant now);
// For a job that is not submitted yet.
struct NewcomerQuestion {
  Uid uid;
  const std::string& user;
  const JobSpec& spec;
};
Verdict place_new(const Cluster& cluster, Board& board, const NewcomerQuestion& asked, Instant now);
std::string sentence_for_new(const Cluster& cluster, Board& board, const NewcomerQuestion& asked,
                             Instant now);

}  // namespace muster
