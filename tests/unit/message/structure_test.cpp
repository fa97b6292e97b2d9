// S27: structures that lie, nest or overflow get a typed error, quickly and in little memory.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>

#include "base/message/codec.h"
#include "base/message/request.h"
#include "base/message/worker.h"

namespace muster {
namespace {

std::size_t peak_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stoul(line.substr(6));
  }
  return 0;
}

// A map {field: bytes}.
std::string with_field(std::uint64_t field, std::string_view value) {
  std::string out;
  Packer packer(out);
  packer.map(1);
  packer.unsigned_integer(field);
  packer.raw(value);
  return out;
}

template <class T>
void expect_refused(const std::string& bytes, const char* what) {
  const auto begun = std::chrono::steady_clock::now();
  const auto decoded = decode<T>(bytes);
  const auto spent = std::chrono::steady_clock::now() - begun;
  EXPECT_FALSE(decoded.ok()) << what;
  if (!decoded.ok()) {
    EXPECT_TRUE(decoded.error().code == ErrorCode::kInvalid ||
                decoded.error().code == ErrorCode::kLimit);
    EXPECT_LT(decoded.error().message.size(), 300U);
  }
  EXPECT_LT(spent, std::chrono::milliseconds(100)) << what;  // 10 ms in a release build.
}

template <class T>
void expect_refused_everywhere(const std::string& bytes, const char* what) {
  expect_refused<T>(bytes, what);
  expect_refused<T>(with_field(1, bytes), what);
}

std::string packed_integer(std::int64_t value) {
  std::string out;
  Packer(out).signed_integer(value);
  return out;
}

TEST(Structure, LengthsThatLieAreRefusedBeforeMemoryIsTaken) {
  const std::size_t before = peak_kib();
  for (const char* head :
       {"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff",
        "\xc6\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff", "\xdd\x7f\xff\xff\xff"}) {
    expect_refused_everywhere<Request>(std::string(head, 5), "length");
    expect_refused_everywhere<SubmitBody>(std::string(head, 5), "length");
    expect_refused_everywhere<WorkerMessage>(std::string(head, 5), "length");
    expect_refused_everywhere<ControllerMessage>(std::string(head, 5), "length");
  }
  EXPECT_LT(peak_kib(), before + (16U << 10U));
}

TEST(Structure, MillionsOfLevelsAreRefused) {
  const std::size_t before = peak_kib();
  for (const char level : {'\x91', '\x81'}) {
    const std::string deep(1000000, level);
    expect_refused_everywhere<Request>(deep, "depth");
    expect_refused_everywhere<SubmitBody>(deep, "depth");
    // Below a field that no release knows: it is skipped, but not at any price.
    expect_refused<Request>(with_field(99, deep), "depth below an unknown field");
  }
  EXPECT_LT(peak_kib(), before + (32U << 10U));
}

TEST(Structure, EmptyTruncatedAndTrailingAreRefused) {
  Request request;
  request.request_id = Uuid{};
  request.body = "abc";
  const std::string good = encode(request);
  ASSERT_TRUE(decode<Request>(good).ok());
  expect_refused<Request>("", "empty");
  for (std::size_t size = 0; size < good.size(); ++size) {
    expect_refused<Request>(good.substr(0, size), "truncated");
  }
  expect_refused<Request>(good + "\xc0", "trailing");
  expect_refused<Request>(good + good, "twice");
}

TEST(Structure, WrongTypesAndForeignNumbersAreRefused) {
  const std::string text(
      "\xa3"
      "abc",
      4);
  const std::string nan("\xcb\x7f\xf8\0\0\0\0\0\0", 9);
  const std::string infinity("\xcb\x7f\xf0\0\0\0\0\0\0", 9);
  const std::string one_float("\xca\x3f\x80\0\0", 5);
  for (const std::string& value :
       {text, nan, infinity, one_float, std::string("\xc3"), std::string("\xc0"),
        std::string("\x90"), std::string("\x80"), packed_integer(-1), packed_integer(INT64_MIN),
        packed_integer(INT64_MAX)}) {
    expect_refused<Request>(with_field(1, value), "protocol");   // u32
    expect_refused<StampedRequest>(with_field(4, text), "pid");  // i32
    expect_refused<Request>(with_field(3, value), "verb");       // enumeration
  }
  expect_refused<StampedRequest>(with_field(4, packed_integer(INT64_MIN)), "pid");
  expect_refused<StampedRequest>(
      with_field(2, std::string("\xcf\xff\xff\xff\xff\xff\xff\xff\xff", 9)), "uid of 2^64-1");
  expect_refused<Request>(with_field(3, packed_integer(EnumNames<Verb>::kNames.size())),
                          "an unknown verb");
  expect_refused<Request>(with_field(4, text), "a UUID of 3 bytes");
  expect_refused<Request>(with_field(6, packed_integer(1)), "body");
  expect_refused<Request>("\x93\x01\x02\x03", "an array");
  std::string text_keys;
  Packer packer(text_keys);
  packer.map(1);
  packer.string("verb");
  packer.unsigned_integer(1);
  expect_refused<Request>(text_keys, "keys that are text");
}

TEST(Structure, RepeatedKeysAndUnknownOnesAreHarmless) {
  std::string bytes;
  Packer packer(bytes);
  packer.map(4);
  packer.unsigned_integer(2);
  packer.unsigned_integer(1);
  packer.unsigned_integer(2);
  packer.unsigned_integer(7);
  packer.unsigned_integer(UINT64_MAX);
  packer.string("from the future");
  packer.unsigned_integer(4000);
  packer.array(0);
  const auto decoded = decode<Request>(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  EXPECT_EQ(decoded->number, 7U);
}

TEST(Structure, MoreThanTheLimitIsRefused) {
  expect_refused<JobsBody>(with_field(2, std::string(1, '\xdd') + std::string("\0\1\x86\xa1", 4) +
                                             std::string(100001, '\xa0')),
                           "100,001 users");
  DecodeLimits limits;
  limits.bytes_max = 1000;
  EXPECT_EQ(decode<Request>(std::string(1001, '\xc0'), limits).error().code, ErrorCode::kLimit);
  std::string fields;
  Packer packer(fields);
  packer.map(1025);
  for (std::uint64_t i = 0; i < 1025; ++i) {
    packer.unsigned_integer(i + 1000);
    packer.nil();
  }
  expect_refused<Request>(fields, "1,025 fields");
}

}  // namespace
}  // namespace muster
