// Clusters to snapshot files and back; folding a journal.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/journal/segment.h"
#include "base/journal/snapshot.h"
#include "controller/record/event_codec.h"
#include "controller/record/fold.h"
#include "controller/record/snapshot_codec.h"
#include "controller/record/snapshot_store.h"
#include "tests/unit/core/world.h"

namespace muster {
namespace {

namespace fs = std::filesystem;

std::string cluster_uuid() { return "01234567-89ab-4def-8123-456789abcdef"; }

void fill(World& world) {
  world.step(BeginEpoch{Epoch{1}, cluster_uuid(), "boot", "0.1.0"});
  ClusterConfig config = World::config();
  config.licences = {{"seat", 3}};
  config.switches = {{"leaf", {"n1", "n2"}, {}, false}};
  config.accounts[0].quotas = {{"gpu", 64, 8, {}}};
  world.step(ApplyConfig{World::admin(), config});
  world.add_node("n1", World::inventory("1", 4));
  world.add_node("n2", World::inventory("2", 4));
  ReservationSpec reserved;
  reserved.nodes = {"n1", "n2"};
  reserved.start = WallTime{world.now().wall.us + days(3).us};
  reserved.duration = hours(2);
  reserved.every = days(7);
  reserved.accounts = {"lab"};
  reserved.flex = true;
  world.step(SetReservation{World::admin(), "course", true, reserved});
  NewJob array = World::job(1, 1, "array");
  array.spec.array.ranges = {{1, 9, 2}};
  array.spec.array.running_max = 2;
  const JobId many = world.submitted(array);
  NewJob near = World::job(2, 2, "gang");
  near.spec.topology = {TopologyKind::kSwitch, 0, "", false};
  near.spec.groups[0].one_clique = true;
  near.spec.licences = {{"seat", 2}};
  const JobId gang = world.submitted(near);
  world.submitted(World::job(1, 4, "waits"));
  world.pass();
  world.report("n1", AttemptKey{gang, {}, AttemptNo{1}}, AttemptPhase::kPrepared);
  world.report("n2", AttemptKey{gang, {}, AttemptNo{1}}, AttemptPhase::kPrepared);
  world.report("n2", AttemptKey{gang, {}, AttemptNo{1}}, AttemptPhase::kEnded,
               World::ended(CauseKind::kExited, 1));
  JobSelection some;
  some.elements = {{many, Element{9}}};
  some.element_given = {true};
  world.step(CancelJobs{World::user(), some, 0});
}

std::string payload_of(const Cluster& cluster) {
  std::string payload;
  const auto encoded = encode_cluster(cluster, WallTime{7}, [&](std::string_view piece) {
    payload += piece;
    return Result<void>();
  });
  EXPECT_TRUE(encoded.ok());
  return payload;
}

class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "muster-record-XXXXXX").string();
    MUSTER_ASSERT(mkdtemp(name.data()) != nullptr);
    path_ = name;
    fs::create_directory(path_ + "/journal");
    fs::create_directory(path_ + "/snapshots");
  }
  ~Directory() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string snapshots() const { return path_ + "/snapshots"; }

  void write_segment(const std::vector<Record>& records, std::size_t first,
                     std::size_t last) const {
    SegmentHeader header;
    header.seq_first = first;
    header.salt = 77;
    std::string bytes;
    append_segment_header(bytes, header);
    RecordChain chain = header.chain();
    for (std::size_t seq = first; seq <= last; ++seq) {
      const Record& record = records[seq - 1];
      append_record(bytes, RecordLabel{seq, record.epoch.value, seq, 1, 1}, encode_record(record),
                    chain);
    }
    std::ofstream(path_ + "/journal/" + segment_file_name(first), std::ios::binary) << bytes;
  }

 private:
  std::string path_;
};

TEST(Snapshot, GivesBackTheSameCluster) {
  World world;
  fill(world);
  const std::string payload = payload_of(world.engine.cluster());
  ClusterDecoder decoder;
  for (std::size_t i = 0; i < payload.size(); i += 100) {
    ASSERT_TRUE(decoder.add(std::string_view(payload).substr(i, 100)).ok());
  }
  const Result<Cluster> again = decoder.finish(world.engine.cluster().digest());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(payload_of(*again), payload);
  EXPECT_EQ(again->jobs_unfinished(), 3U);
  EXPECT_EQ(again->reservations(), world.engine.cluster().reservations());
  EXPECT_EQ(again->reservations().size(), 1U);
  EXPECT_EQ(decoder.wall(), WallTime{7});
}

TEST(Snapshot, GoesOnLikeTheOriginal) {
  World world;
  fill(world);
  const Seq seq = world.engine.seq_last();
  ClusterDecoder decoder;
  ASSERT_TRUE(decoder.add(payload_of(world.engine.cluster())).ok());
  Engine other;
  other.load(*decoder.finish(world.engine.cluster().digest()), seq);
  world.tick(seconds(5));
  world.pass();
  world.step(CancelJobs{World::user(), {{}, {}, {}, {}, {}, true}, 0});
  for (const Record& record : world.journal) {
    if (record.seq > seq) other.replay(record);
  }
  EXPECT_EQ(other.cluster().digest(), world.engine.cluster().digest());
}

// A controller that starts from a snapshot forecasts as the one that went on.
TEST(Snapshot, KeepsWhatWasLearnedOfRunTimes) {
  World world;
  fill(world);
  const AttemptKey gang{JobId{2}, {}, AttemptNo{1}};
  world.at = world.at + hours(2);
  world.report("n1", gang, AttemptPhase::kEnded, World::ended(CauseKind::kCompleted));
  ClusterDecoder decoder;
  ASSERT_TRUE(decoder.add(payload_of(world.engine.cluster())).ok());
  const Result<Cluster> again = decoder.finish(world.engine.cluster().digest());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->run_times().rows().size(), kLikenessLevels);
  EXPECT_EQ(again->run_times().digest(), world.engine.cluster().run_times().digest());
}

// Also through the journal, and after a job started as was said.
TEST(Snapshot, KeepsWhatWasSaidOfStarts) {
  World world;
  fill(world);
  EstimateStarts ahead{1'000'000, true};
  while (world.step(ahead).estimate_wanted) ahead.anew = false;
  const JobId waits{3};
  ASSERT_NE(world.engine.cluster().estimates().find(waits), nullptr);
  world.at = world.at + seconds(10);
  world.report("n1", AttemptKey{JobId{2}, {}, AttemptNo{1}}, AttemptPhase::kEnded,
               World::ended(CauseKind::kExited, 1));
  world.pass();
  ASSERT_EQ(world.engine.cluster().estimates().sum().count, 1U);
  world.submitted(World::job(1, 4, "waits"));
  ahead.anew = true;
  while (world.step(ahead).estimate_wanted) ahead.anew = false;
  ASSERT_EQ(world.engine.cluster().estimates().promises().size(), 1U);
  for (const Record& record : world.journal) {
    const Result<Record> again = decode_record(encode_record(record));
    ASSERT_TRUE(again.ok());
    if (const auto* said = std::get_if<StartsEstimated>(&record.events.back())) {
      const auto* read = std::get_if<StartsEstimated>(&again->events.back());
      ASSERT_NE(read, nullptr);
      EXPECT_EQ(read->starts.back().most, said->starts.back().most);
    }
  }
  ClusterDecoder decoder;
  ASSERT_TRUE(decoder.add(payload_of(world.engine.cluster())).ok());
  const Result<Cluster> again = decoder.finish(world.engine.cluster().digest());
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->estimates().digest(), world.engine.cluster().estimates().digest());
  EXPECT_EQ(again->estimates().sum().most_held, 1U);
}

TEST(Snapshot, RefusesEstimatesThatMakeNoSense) {
  ClusterImage image;
  EXPECT_FALSE(image.add(ImagePromise{JobId{7}, {}, {}}).ok());  // There is no such job.
  ImageEstimates day;
  day.early.assign(kAgeBins + 1, 1);
  EXPECT_FALSE(image.add(day).ok());
  day.early.clear();
  EXPECT_TRUE(image.add(day).ok());
  EXPECT_FALSE(image.add(day).ok());
}

// What is freed for a job is kept for ten minutes, and over restarts.
TEST(Snapshot, KeepsFreedRoom) {
  World world;
  fill(world);
  Engine engine;
  for (const Record& record : world.journal) engine.replay(record);
  const auto free = [&](JobId job, Element element, Instant at) {
    const FreedRoom room{job, element, at + minutes(1), hours(1), {{{NodeId{1}}}}};
    engine.replay(
        {Seq{engine.seq_last().value + 1}, engine.cluster().epoch(), at, {}, {RoomFreed{room}}});
  };
  const Instant first = world.at + seconds(1);
  free(JobId{3}, {}, first);
  free(JobId{1}, Element{7}, first + minutes(10));
  EXPECT_EQ(engine.cluster().rooms().size(), 2U);
  ClusterDecoder decoder;
  ASSERT_TRUE(decoder.add(payload_of(engine.cluster())).ok());
  const Result<Cluster> again = decoder.finish(engine.cluster().digest());
  ASSERT_TRUE(again.ok()) << again.error().message;
  ASSERT_EQ(again->rooms().size(), 2U);
  EXPECT_EQ(again->rooms().begin()->second.time, hours(1));
  free(JobId{1}, Element{7}, first + minutes(12));
  ASSERT_EQ(engine.cluster().rooms().size(), 1U);
  EXPECT_EQ(engine.cluster().rooms().begin()->first.job, JobId{1});
  ClusterImage image;
  EXPECT_FALSE(image.add(ImageRoom{{JobId{9}, {}, {}, {}, {}}}).ok());  // There is no such job.
  EXPECT_FALSE(image.add(ImageReservation{}).ok());                     // It lasts no time.
}

TEST(Snapshot, RefusesRunTimesThatMakeNoSense) {
  const auto refused = [](const ImageRunTimes& item, int times) {
    ClusterImage image;
    bool failed = false;
    for (int i = 0; i < times; ++i) failed = !image.add(item).ok();
    return failed;
  };
  ImageRunTimes item;
  EXPECT_FALSE(refused(item, 1));
  EXPECT_TRUE(refused(item, 2));
  item.ended.assign(kAgeBins + 1, 1);
  EXPECT_TRUE(refused(item, 1));
  item.ended.clear();
  item.likeness.level = kLikenessLevels;
  EXPECT_TRUE(refused(item, 1));
}

TEST(Snapshot, RefusesEveryFlippedByteOrAnotherDigest) {
  World world;
  fill(world);
  const std::string good = payload_of(world.engine.cluster());
  const std::uint64_t digest = world.engine.cluster().digest();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    ClusterDecoder decoder;
    if (!decoder.add(bad).ok()) continue;
    const Result<Cluster> cluster = decoder.finish(digest);
    if (cluster.ok()) {
      EXPECT_TRUE(payload_of(*cluster) == good)
          << "byte " << i;  // Only the label of the last record is not digested.
    }
  }
  ClusterDecoder decoder;
  ASSERT_TRUE(decoder.add(good).ok());
  EXPECT_FALSE(decoder.finish(digest + 1).ok());
}

TEST(SnapshotStore, KeepsTwoAndPassesOverADamagedOne) {
  const Directory directory;
  World world;
  fill(world);
  EXPECT_FALSE(newest_snapshot_seq(directory.snapshots()).has_value());
  for (std::uint64_t seq = 1; seq <= 3; ++seq) {
    ASSERT_TRUE(
        write_snapshot(directory.snapshots(), world.engine.cluster(), Seq{seq}, WallTime{1}).ok());
  }
  EXPECT_EQ(newest_snapshot_seq(directory.snapshots()), Seq{3});
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.snapshots()), fs::directory_iterator()),
            2);
  fs::resize_file(directory.snapshots() + "/" + snapshot_file_name(3), 500);
  std::string note;
  const auto loaded = load_newest_snapshot(directory.snapshots(), &note);
  ASSERT_TRUE(loaded.ok() && loaded->has_value());
  EXPECT_EQ((*loaded)->seq, Seq{2});
  EXPECT_NE(note.find("older snapshot is used"), std::string::npos) << note;
  fs::remove(directory.snapshots() + "/" + snapshot_file_name(2));
  EXPECT_EQ(load_newest_snapshot(directory.snapshots()).error().code, ErrorCode::kCorrupt);
}

TEST(Fold, SealedSegmentsBecomeASnapshot) {
  const Directory directory;
  World world;
  fill(world);
  world.step(SealSegment{});
  const std::size_t sealed = world.journal.size();
  world.tick(seconds(5));
  world.pass();
  world.submitted(World::job(1, 1));
  directory.write_segment(world.journal, 1, 5);
  directory.write_segment(world.journal, 6, sealed);
  directory.write_segment(world.journal, sealed + 1, world.journal.size());
  const Result<Folded> folded = fold_journal(directory.path());
  ASSERT_TRUE(folded.ok()) << folded.error().message;
  EXPECT_EQ(folded->from, Seq{0});
  EXPECT_EQ(folded->to, Seq{sealed});
  auto loaded = load_newest_snapshot(directory.snapshots());
  ASSERT_TRUE(loaded.ok() && loaded->has_value());
  Engine engine;
  engine.load(std::move((*loaded)->cluster), (*loaded)->seq);
  for (std::size_t seq = sealed + 1; seq <= world.journal.size(); ++seq)
    engine.replay(world.journal[seq - 1]);
  EXPECT_EQ(engine.cluster().digest(), world.engine.cluster().digest());
  const Result<Folded> again = fold_journal(directory.path());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->from, again->to);
}

TEST(Fold, RefusesAWrongDigestAndAGap) {
  const Directory directory;
  World world;
  fill(world);
  world.step(SealSegment{});
  std::get<SegmentSealed>(world.journal.back().events[0]).digest ^= 1;
  const std::size_t sealed = world.journal.size();
  world.submitted(World::job(1, 1));
  directory.write_segment(world.journal, 1, sealed);
  directory.write_segment(world.journal, sealed + 1, sealed + 1);
  const Result<Folded> folded = fold_journal(directory.path());
  ASSERT_FALSE(folded.ok());
  EXPECT_EQ(folded.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(folded.error().message.find("offset"), std::string::npos) << folded.error().message;
  fs::remove(directory.path() + "/journal/" + segment_file_name(1));
  directory.write_segment(world.journal, 2, sealed);
  EXPECT_NE(fold_journal(directory.path()).error().message.find("missing"), std::string::npos);
}

}  // namespace
}  // namespace muster
