// Frames: what goes in comes out, however it is cut; hostile streams are refused in bounded memory.
#include "base/message/frame.h"

#include <gtest/gtest.h>

#include "base/types/rng.h"

namespace muster {
namespace {

std::string frame(std::uint32_t rest, std::uint8_t flags, std::uint32_t id, std::string_view data) {
  std::string out;
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(rest >> (8 * i) & 0xffU));
  out.push_back(static_cast<char>(flags));
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(id >> (8 * i) & 0xffU));
  return out.append(data);
}

TEST(Frames, MessagesOfAllSizesComeOutHoweverTheStreamIsCut) {
  std::vector<std::string> sent;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kFrameDataMax - 1, kFrameDataMax,
                                 kFrameDataMax + 1, 2 * kFrameDataMax, 3 * kFrameDataMax + 17}) {
    sent.emplace_back(size, static_cast<char>('a' + size % 26));
  }
  std::string stream;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    append_frames(sent[i], static_cast<std::uint32_t>(i), stream);
  }
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{3}, std::size_t{4096}, stream.size()}) {
    FrameParser parser;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(parser.push(std::string_view(stream).substr(at, step), got).ok());
    }
    EXPECT_EQ(got, sent) << step;
    EXPECT_EQ(parser.bytes(), 0U);
  }
}

TEST(Frames, TheLargestMessageFitsAndOneByteMoreDoesNot) {
  const std::string largest(kMessageBytesMax, 'x');
  std::string stream;
  append_frames(largest, 1, stream);
  FrameParser parser;
  std::vector<std::string> got;
  ASSERT_TRUE(parser.push(stream, got).ok());
  EXPECT_EQ(got.at(0).size(), kMessageBytesMax);
  FrameParser strict({100, 100, 8});
  stream.clear();
  append_frames(std::string(101, 'x'), 1, stream);
  EXPECT_EQ(strict.push(stream, got).error().code, ErrorCode::kLimit);
}

TEST(Frames, ShortMessagesOvertakeLongOnes) {
  FrameParser parser;
  std::vector<std::string> got;
  ASSERT_TRUE(parser.push(frame(5 + 3, 1, 7, "abc"), got).ok());
  ASSERT_TRUE(parser.push(frame(5 + 2, 0, 8, "hi"), got).ok());
  ASSERT_TRUE(parser.push(frame(5 + 3, 0, 7, "def"), got).ok());
  EXPECT_EQ(got, (std::vector<std::string>{"hi", "abcdef"}));
}

TEST(Frames, LiesAreRefusedAtOnceAndTheStreamStaysLost) {
  const std::vector<std::pair<std::string, ErrorCode>> lies = {
      {frame(0, 0, 0, ""), ErrorCode::kInvalid},
      {frame(4, 0, 0, ""), ErrorCode::kInvalid},
      {frame(0xffffffff, 0, 0, ""), ErrorCode::kLimit},
      {frame(5 + kFrameDataMax + 1, 0, 0, ""), ErrorCode::kLimit},
      {frame(5, 2, 0, ""), ErrorCode::kInvalid},
      {frame(5, 0xff, 0, ""), ErrorCode::kInvalid},
      {frame(5, 1, 0, ""), ErrorCode::kInvalid},
  };
  for (const auto& [bytes, code] : lies) {
    FrameParser parser;
    std::vector<std::string> got;
    const auto pushed = parser.push(bytes, got);
    ASSERT_FALSE(pushed.ok());
    EXPECT_EQ(pushed.error().code, code);
    EXPECT_FALSE(parser.push(frame(5, 0, 0, ""), got).ok());
    EXPECT_TRUE(got.empty());
    EXPECT_LT(parser.bytes(), 16U);
  }
}

TEST(Frames, UnfinishedMessagesAreBounded) {
  FrameParser parser;
  std::vector<std::string> got;
  Result<void> pushed;
  std::uint32_t id = 0;
  while (pushed && id < 100) pushed = parser.push(frame(6, 1, id++, "x"), got);
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(id, 9U);
  FrameParser big;
  const std::string data(kFrameDataMax, 'x');
  pushed = {};
  for (std::uint32_t i = 0; pushed && i < 1000; ++i) {
    pushed = big.push(frame(static_cast<std::uint32_t>(5 + data.size()), 1, i % 4, data), got);
  }
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().code, ErrorCode::kLimit);
  EXPECT_LE(big.bytes(), kMessageBytesMax + 2 * kFrameDataMax);
}

TEST(Frames, RandomStreamsNeverHoldMoreThanArrived) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    FrameParser parser;
    std::vector<std::string> got;
    std::size_t arrived = 0;
    for (int i = 0; i < 20; ++i) {
      std::string bytes(rng.next() % 30, '\0');
      for (char& c : bytes) c = static_cast<char>(rng.next() % 10);
      arrived += bytes.size();
      if (!parser.push(bytes, got)) break;
      ASSERT_LE(parser.bytes(), arrived);
    }
  }
}

}  // namespace
}  // namespace muster
