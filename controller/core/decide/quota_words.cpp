// Saying who uses how much of what.
#include "controller/core/decide/quota_words.h"

#include <algorithm>
#include <vector>

#include "controller/core/decide/horizon.h"
#include "controller/core/decide/limit_book.h"
#include "controller/core/decide/limit_words.h"

namespace muster {
namespace {

std::string gpus_text(std::uint64_t milli) {
  const std::string number = milli_text(milli);
  return number + (number == "1" ? " GPU" : " GPUs");
}

// "account lab-a uses 12 GPUs of queue day: 8 guaranteed, 4 borrowed"
std::string use_text(const QuotaTally& tally) {
  return "account " + tally.account + " uses " + gpus_text(tally.used) + " of queue " +
         tally.queue + ": " + milli_text(tally.guaranteed) + " guaranteed, " +
         milli_text(tally.borrowed()) + " borrowed";
}

struct End {
  Instant at;
  AttemptKey key;
  std::uint64_t milli = 0;
};

// The owner's end, by time limits, after which what is asked is within its cap. Null: none.
std::optional<End> last_needed(const Cluster& cluster, QuotaBook& book, const QuotaBreach& breach,
                               Instant now) {
  const QuotaTally& tally = *breach.tally;
  std::vector<End> ends;
  for (const auto& [key, attempt] : cluster.attempts()) {
    const JobFacts& job = cluster.find_job(key.job)->facts();
    if (job.queue() != tally.queue || book.find(cluster, tally.queue, job.account()) != &tally)
      continue;
    ends.push_back({std::max(now, end_known(cluster, attempt)), key,
                    holding_of(*attempt.place, {}).gpus_milli});
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const End& a, const End& b) { return a.at < b.at; });
  std::uint64_t left = tally.used + breach.asked;
  for (const End& end : ends) {
    left -= std::min(left, end.milli);
    if (left <= tally.guaranteed + tally.borrow_max.value_or(0)) return end;
  }
  return std::nullopt;
}

}  // namespace

std::string never_text(const QuotaBreach& breach) {
  const QuotaTally& tally = *breach.tally;
  const std::uint64_t borrow_max = tally.borrow_max.value_or(0);
  return "account " + tally.account + " may use " + gpus_text(tally.guaranteed + borrow_max) +
         " of queue " + tally.queue + " (" + milli_text(tally.guaranteed) + " guaranteed, " +
         milli_text(borrow_max) + " borrowed), and this job asks for " + milli_text(breach.asked);
}

void explain_quota(const Cluster& cluster, QuotaBook& book, const QuotaBreach& breach, Instant now,
                   Explanation& why) {
  const QuotaTally& tally = *breach.tally;
  why.reason = WaitReason::kQuota;
  if (breach.is_for_ever()) {
    why.reason = WaitReason::kNeverPossible;
    why.sentence =
        "can no longer run: " + never_text(breach) + "; cancel it, or move it with gpujob set";
    return;
  }
  why.sentence = use_text(tally);
  if (breach.pool) {
    why.sentence += "; of " + gpus_text(breach.pool->capacity) + " there, " +
                    milli_text(breach.pool->used) + " are in use and " +
                    milli_text(breach.pool->kept) +
                    " kept by accounts that lend no more, and this job asks for " +
                    milli_text(breach.asked) + "; it may start as others end";
    return;
  }
  why.sentence += "; the borrowing cap is " + milli_text(tally.borrow_max.value_or(0)) +
                  ", and this job asks for " + milli_text(breach.asked);
  if (const auto end = last_needed(cluster, book, breach, now)) {
    why.frees_last = end->key;
    why.start_latest = end->at;
    why.sentence += "; the end of job " + std::to_string(end->key.job.value) +
                    " makes room under the cap, in " + to_text(end->at - now) +
                    " at the latest; others are not held back by it";
  }
}

std::string reclaim_text(const Cluster& cluster, const QuotaBook& book, const QuotaTally& tally,
                         Duration waited) {
  const QueueConfig* queue = cluster.find_queue(tally.queue);
  if (queue == nullptr || !book.is_borrowed_from(tally.queue)) return "";
  std::string text = "; account " + tally.account + " uses " + milli_text(tally.used) + " of its " +
                     milli_text(tally.guaranteed) + " guaranteed GPUs of queue " + tally.queue +
                     ", and others borrow there: ";
  if (waited < queue->reclaim_grace)
    return text + "jobs of theirs are stopped for it in " + to_text(queue->reclaim_grace - waited);
  return text + "jobs of theirs are stopped for it where that makes room";
}

}  // namespace muster
