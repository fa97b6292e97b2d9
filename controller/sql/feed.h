// Carries journal records into PostgreSQL: facts and the watermark in one transaction, the same
// rows however often a record is written.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/types/ids.h"
#include "base/types/result.h"
#include "controller/core/event.h"
#include "controller/sql/database.h"

namespace muster {

// One thread's object. Any error leaves the database as it was before the call. After kUnavailable
// the feed is dead: connect a new one, ask its watermark, and go on from there.
class Feed {
 public:
  // cluster_id and epoch are this controller's own. Takes over at once: feeds with a lower epoch
  // are refused from here on. kConflict: this epoch itself is older than the database's. kInvalid:
  // the schema is missing or not this program's; `gpuadmin db migrate` mends it.
  static Result<Feed> connect(const std::string& conninfo, const std::string& cluster_id,
                              Epoch epoch);

  // Everything up to this record is durable in the database; 0 at first. Lower than the last one
  // written when the database was restored from a backup.
  Seq watermark() const { return watermark_; }

  // Records in order of seq without holes, beginning at or before watermark() + 1; earlier ones
  // change nothing. Records without facts belong in too: they move the watermark. A few thousand a
  // call is a good size. kConflict: a newer controller feeds this database, a row contradicts one
  // that is there, or records are missing (the database is older than the journal's beginning: see
  // skip_to).
  Result<void> write(std::span<const Record> records);

  // An administrator's word that records after watermark() and before `next` are lost for SQL
  // (table feed_gaps).
  Result<void> skip_to(Seq next, const std::string& reason);

 private:
  Feed(Database database, std::string cluster, Epoch epoch);
  Result<void> take_over();
  Result<void> lock_watermark();
  Result<void> move_watermark(Seq seq);
  Result<void> write_rows(std::span<const Record> records);
  Result<void> stage_and_insert(std::span<const Record> records);

  Database database_;
  std::string cluster_;  // Its number in the database.
  Epoch epoch_;
  Seq watermark_;
};

}  // namespace muster
