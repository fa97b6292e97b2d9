// The feed's transactions.
#include "controller/sql/feed.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "controller/sql/rows.h"

namespace muster {
namespace {

std::uint64_t number(const SqlCell& cell) {
  std::uint64_t value = 0;
  const std::string text = cell.value_or("0");
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string text_of(std::uint64_t value) { return std::to_string(value); }

Error schema_missing(const Error& error) {
  if (error.code != ErrorCode::kInvalid) return error;
  return fail(ErrorCode::kInvalid,
              "feed: the schema is missing or too old, run gpuadmin db migrate: " + error.message);
}

// The cluster's number; the row is made by the first feed of a cluster.
Result<std::string> find_cluster(Database& database, const std::string& cluster_id) {
  const SqlCell id{storable_text(cluster_id)};
  if (Result<std::vector<SqlRow>> added =
          database.query("queries/feed_cluster_add", std::span(&id, 1));
      !added) {
    return schema_missing(added.error());
  }
  Result<std::vector<SqlRow>> found =
      database.query("queries/feed_cluster_find", std::span(&id, 1));
  if (!found) return schema_missing(found.error());
  if (found->empty())
    return fail(ErrorCode::kConflict, "feed: cluster " + *id + " vanished from the database");
  return found->at(0).at(0).value_or("");
}

}  // namespace

Feed::Feed(Database database, std::string cluster, Epoch epoch)
    : database_(std::move(database)), cluster_(std::move(cluster)), epoch_(epoch) {}

Result<Feed> Feed::connect(const std::string& conninfo, const std::string& cluster_id,
                           Epoch epoch) {
  Result<Database> database = Database::connect(conninfo);
  if (!database) return database.error();
  if (Result<void> begun = database->begin(); !begun) return begun.error();
  Result<std::string> cluster = find_cluster(*database, cluster_id);
  if (!cluster) return cluster.error();
  if (Result<void> staged = database->run("queries/feed_stage"); !staged) return staged.error();
  Feed feed(*std::move(database), *std::move(cluster), epoch);
  if (Result<void> taken = feed.take_over(); !taken) return taken.error();
  return feed;
}

Result<void> Feed::take_over() {
  if (Result<void> locked = lock_watermark(); !locked) return locked;
  if (Result<void> moved = move_watermark(watermark_); !moved) return moved;
  return database_.commit();
}

Result<void> Feed::lock_watermark() {
  const SqlCell cluster{cluster_};
  Result<std::vector<SqlRow>> rows = database_.query("queries/feed_lock", std::span(&cluster, 1));
  if (!rows) return rows.error();
  if (rows->empty())
    return fail(ErrorCode::kConflict, "feed: the watermark vanished from the database");
  const std::uint64_t newest = number(rows->at(0).at(1));
  if (newest > epoch_.value) {
    return fail(ErrorCode::kConflict, "feed: epoch " + text_of(epoch_.value) +
                                          " is over: the database is fed by epoch " +
                                          text_of(newest) + " of this cluster");
  }
  watermark_ = Seq{number(rows->at(0).at(0))};
  return {};
}

Result<void> Feed::move_watermark(Seq seq) {
  const SqlRow to{cluster_, text_of(seq.value), text_of(epoch_.value)};
  Result<std::vector<SqlRow>> moved = database_.query("queries/feed_move", to);
  if (!moved) return moved.error();
  return {};
}

Result<void> Feed::write(std::span<const Record> records) {
  if (records.empty()) return {};
  for (std::size_t i = 1; i < records.size(); ++i) {
    MUSTER_ASSERT(records[i].seq.value == records[i - 1].seq.value + 1);
  }
  if (Result<void> begun = database_.begin(); !begun) return begun;
  Result<void> written = write_rows(records);
  if (written.ok())
    written = database_.commit();
  else
    database_.rollback();
  if (written.ok()) watermark_ = std::max(watermark_, records.back().seq);
  return written;
}

Result<void> Feed::write_rows(std::span<const Record> records) {
  if (Result<void> locked = lock_watermark(); !locked) return locked;
  if (records.front().seq.value > watermark_.value + 1) {
    return fail(ErrorCode::kConflict, "feed: records " + text_of(watermark_.value + 1) + " to " +
                                          text_of(records.front().seq.value - 1) +
                                          " are missing in the database and not offered");
  }
  if (Result<void> inserted = stage_and_insert(records); !inserted) return inserted;
  return move_watermark(records.back().seq);
}

Result<void> Feed::stage_and_insert(std::span<const Record> records) {
  FactRows rows(cluster_);
  for (const Record& record : records) rows.add(record);
  bool any = false;
  for (const SqlSheet& sheet : rows.sheets()) {
    if (sheet.cells.empty()) continue;
    if (Result<void> copied = database_.copy(sheet); !copied) return copied;
    any = true;
  }
  return any ? database_.run("queries/feed_insert") : Result<void>();
}

Result<void> Feed::skip_to(Seq next, const std::string& reason) {
  if (Result<void> begun = database_.begin(); !begun) return begun;
  Result<void> done = lock_watermark();
  if (done.ok() && next.value > watermark_.value + 1) {
    const SqlRow gap{cluster_, text_of(watermark_.value + 1), text_of(next.value - 1),
                     storable_text(reason)};
    Result<std::vector<SqlRow>> noted = database_.query("queries/feed_gap", gap);
    done = noted.ok() ? move_watermark(Seq{next.value - 1}) : Result<void>(noted.error());
  }
  if (!done) {
    database_.rollback();
    return done;
  }
  if (Result<void> kept = database_.commit(); !kept) return kept;
  watermark_ = std::max(watermark_, Seq{next.value - 1});
  return {};
}

}  // namespace muster
