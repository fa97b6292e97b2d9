// Frames and files survive the trip; the channel keeps to its limits and carries descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/order/attempt_files.h"
#include "base/order/local_channel.h"
#include "tests/unit/order/sample_order.h"

namespace muster {
namespace {

struct Pair {
  Pair() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    left = std::make_unique<LocalChannel>(Fd(ends[0]));
    right = std::make_unique<LocalChannel>(Fd(ends[1]));
  }
  std::unique_ptr<LocalChannel> left;
  std::unique_ptr<LocalChannel> right;
};

LocalState sample_state() {
  LocalState state;
  state.key = {JobId{17}, Element{0}, AttemptNo{1}};
  state.phase = LocalPhase::kEnded;
  state.epoch = Epoch{9};
  state.ports = {20001};
  state.warnings = {"no memory limit"};
  state.record.cause.kind = CauseKind::kExited;
  state.record.cause.exit_status = 3;
  state.record.cause.evidence = "rank 2 exited with status 3";
  state.record.cause.rank = 2;
  state.record.ran = seconds(5);
  return state;
}

TEST(LocalProtocol, StateSurvivesTheTrip) {
  Pair pair;
  ASSERT_TRUE(pair.left->send(*encode_local(sample_state())).ok());
  const auto frames = pair.right->receive();
  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->size(), 1U);
  const Result<LocalState> state = decode_local<LocalState>((*frames)[0].frame);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->record, sample_state().record);
  EXPECT_EQ(state->ports, sample_state().ports);
  EXPECT_EQ(state->warnings, sample_state().warnings);
  EXPECT_FALSE(decode_local<LocalKill>((*frames)[0].frame).ok());
}

TEST(LocalProtocol, BigPrepareArrivesWhole) {
  Pair pair;
  LocalPrepare prepare;
  prepare.script.assign(kScriptBytesMax, 's');
  prepare.environment.assign(kEnvironmentBytesMax, 'e');
  ASSERT_TRUE(pair.left->send(*encode_local(prepare)).ok());
  std::vector<ReceivedFrame> got;
  for (int i = 0; i < 100 && got.empty(); ++i) {
    ASSERT_TRUE(pair.left->flush().ok());
    auto frames = pair.right->receive();
    ASSERT_TRUE(frames.ok());
    for (ReceivedFrame& frame : *frames) got.push_back(std::move(frame));
  }
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(decode_local<LocalPrepare>(got[0].frame)->script, prepare.script);
  prepare.script += 's';
  EXPECT_FALSE(encode_local(prepare).ok());
}

TEST(LocalProtocol, DescriptorGoesToItsFrame) {
  Pair pair;
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  Fd writer(pipe_ends[1]);
  ASSERT_TRUE(pair.left->send(*encode_local(LocalList{})).ok());
  LocalLogOpened opened;
  opened.number = 4;
  ASSERT_TRUE(pair.left->send(*encode_local(opened), Fd(pipe_ends[0])).ok());
  opened.error = "no such rank";
  ASSERT_TRUE(pair.left->send(*encode_local(opened)).ok());
  const auto frames = pair.right->receive();
  ASSERT_TRUE(frames.ok());
  ASSERT_EQ(frames->size(), 3U);
  EXPECT_FALSE((*frames)[0].fd.is_open());
  ASSERT_TRUE((*frames)[1].fd.is_open());
  EXPECT_FALSE((*frames)[2].fd.is_open());
  ASSERT_EQ(::write(writer.number(), "x", 1), 1);
  char byte = 0;
  EXPECT_EQ(::read((*frames)[1].fd.number(), &byte, 1), 1);
}

TEST(LocalProtocol, RefusesImpossibleFramesAndReportsTheEnd) {
  for (const auto& bytes : {std::string("\0\0\0\0", 4), std::string("\xff\xff\xff\xff\x01", 5),
                            std::string("\x01\0\0\0\xc3", 5)}) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    const Fd raw(ends[0]);
    LocalChannel channel{Fd(ends[1])};
    ASSERT_EQ(::write(raw.number(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
    const auto frames = channel.receive();
    ASSERT_FALSE(frames.ok());
    EXPECT_EQ(frames.error().code, ErrorCode::kCorrupt);
  }
  Pair pair;
  ASSERT_TRUE(pair.left->send(*encode_local(LocalList{})).ok());
  pair.left.reset();
  EXPECT_EQ(pair.right->receive()->size(), 1U);
  EXPECT_EQ(pair.right->receive().error().code, ErrorCode::kUnavailable);
}

TEST(LocalProtocol, SpeaksTheHighestVersionBothKnow) {
  LocalHello peer;
  EXPECT_EQ(*agree_on_version(peer), kLocalProtocol);
  peer.version_max = 99;
  EXPECT_EQ(*agree_on_version(peer), kLocalProtocol);
  peer.version_min = 98;
  EXPECT_FALSE(agree_on_version(peer).ok());
}

TEST(AttemptFiles, ADeletedDirectoryIsToldFromADiskThatRefuses) {
  std::string path = ::testing::TempDir() + "attempt.XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::rmdir(path.c_str());
  EXPECT_EQ(write_exit_file(directory.number(), ExitFile{}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(write_exit_file(-1, ExitFile{}).error().code, ErrorCode::kUnavailable);
}

TEST(AttemptFiles, SurviveTheTripAndRefuseLongerOnes) {
  ExitFile file;
  file.key = {JobId{17}, Element{0}, AttemptNo{1}};
  file.record = sample_state().record;
  const std::string bytes = *encode_file(file);
  EXPECT_EQ(decode_file<ExitFile>(bytes)->record, file.record);
  EXPECT_FALSE(decode_file<ExitFile>(bytes + "x").ok());
  EXPECT_FALSE(decode_file<ExitFile>(bytes.substr(1)).ok());
  ShepherdSpec spec;
  spec.common = *encode_order(testing::sample_common());
  spec.ports = {20000, 20001};
  spec.pins = {{{0, 1, 8}, "mlx5_0"}, {{2}, ""}};
  EXPECT_EQ(decode_file<ShepherdSpec>(*encode_file(spec))->ports, spec.ports);
  TasksRecord tasks;
  tasks.groups = {4, 5};
  tasks.tasks.resize(2);
  tasks.tasks[1].output.path = "/home/kim/out";
  EXPECT_EQ(decode_file<TasksRecord>(*encode_file(tasks))->tasks[1].output.path, "/home/kim/out");
}

}  // namespace
}  // namespace muster
