// JSON: readable by any parser, true to the values, safe on a terminal.
#include "base/message/json.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/message/request.h"
#include "base/types/rng.h"
#include "base/types/text.h"

namespace muster {
namespace {

std::string text_json(std::string_view text) {
  std::string out;
  JsonWriter(out).string(text);
  return out;
}

std::string duration_json(std::int64_t us) {
  std::string out;
  JsonWriter(out).duration({us});
  return out;
}

TEST(Json, ARowReadsBackWithItsFieldNames) {
  JobRow row;
  row.job = {17};
  row.name = "tr\"ain\\";
  row.is_array = true;
  row.priority = -5;
  row.time_limit = hours(2);
  row.submitted = {1764522477LL * 1000000};
  JobsReply reply;
  reply.rows = {row, JobRow{}};
  const auto parsed = nlohmann::json::parse(to_json(reply));
  const auto& first = parsed.at("rows").at(0);
  EXPECT_EQ(first.at("job"), 17);
  EXPECT_EQ(first.at("name"), "tr\"ain\\");
  EXPECT_EQ(first.at("is_array"), true);
  EXPECT_EQ(first.at("priority"), -5);
  EXPECT_EQ(first.at("time_limit"), 7200);
  EXPECT_EQ(first.at("submitted"), "2025-11-30T17:07:57Z");
  EXPECT_TRUE(first.at("started").is_null());
  EXPECT_EQ(first.at("state"), "pending");
  EXPECT_EQ(parsed.at("rows").size(), 2U);
}

TEST(Json, IdsHashesOptionalsAndEmptyThings) {
  Request request;
  request.verb = Verb::kNodeConfirmDead;
  auto parsed = nlohmann::json::parse(to_json(request));
  EXPECT_EQ(parsed.at("verb"), "node-confirm-dead");
  EXPECT_TRUE(parsed.at("request_id").is_null());
  request.request_id = *parse_uuid("0123456f-89ab-7def-8123-456789abcdef");
  parsed = nlohmann::json::parse(to_json(request));
  EXPECT_EQ(parsed.at("request_id"), "0123456f-89ab-7def-8123-456789abcdef");
  EXPECT_EQ(to_json(JobsReply{}), "{\"rows\":[]}");
  EXPECT_EQ(to_json(std::vector<std::uint32_t>{1, 2, 3}), "[1,2,3]");
  EXPECT_EQ(to_json(std::vector<JobsReply>(2)), "[{\"rows\":[]},{\"rows\":[]}]");
  EXPECT_EQ(to_json(Hash256{}), "\"" + std::string(64, '0') + "\"");
  EXPECT_EQ(to_json(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(to_json(UINT64_MAX), "18446744073709551615");
}

TEST(Json, DurationsAreSecondsWithAFractionOnlyWhenTheyHaveOne) {
  EXPECT_EQ(duration_json(0), "0");
  EXPECT_EQ(duration_json(90000000), "90");
  EXPECT_EQ(duration_json(1500000), "1.5");
  EXPECT_EQ(duration_json(1), "0.000001");
  EXPECT_EQ(duration_json(-500000), "-0.5");
  EXPECT_EQ(duration_json(-1500000), "-1.5");
  EXPECT_EQ(duration_json(INT64_MIN), "-9223372036854.775808");
}

TEST(Json, HostileTextIsEscapedAndStaysTheSame) {
  EXPECT_EQ(text_json("a\x1b[31m\x7f"), "\"a\\u001b[31m\\u007f\"");
  EXPECT_EQ(text_json(std::string("\0\n\t\r", 4)), "\"\\u0000\\n\\t\\r\"");
  EXPECT_EQ(text_json("\xc2\x9b"), "\"\\u009b\"");
  EXPECT_EQ(text_json("\xe2\x80\xae"), "\"\\u202e\"");
  EXPECT_EQ(text_json("\xf3\xa0\x80\x81"), "\"\\udb40\\udc01\"");
  EXPECT_EQ(text_json("gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80\"");
  EXPECT_EQ(text_json("\xff\xc3"), "\"\\ufffd\\ufffd\"");
  EXPECT_EQ(text_json("\xc0\xaf\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(text_json("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

TEST(Json, RandomBytesAlwaysParseAndNeverSteerATerminal) {
  Rng rng(3);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(rng.next() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(rng.next());
    const std::string json = text_json(bytes);
    ASSERT_TRUE(nlohmann::json::accept(json)) << json;
    ASSERT_FALSE(has_unprintable(json)) << json;
    const bool is_utf8 = nlohmann::json::accept(
        nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    ASSERT_TRUE(is_utf8);
    ASSERT_EQ(nlohmann::json::parse(json).get<std::string>().empty(), bytes.empty());
  }
}

TEST(Json, TenThousandRowsAreQuick) {
  JobsReply reply;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    JobRow row;
    row.job = {i + 1};
    row.name = "train-" + std::to_string(i);
    row.user = "kim";
    row.queue = "main";
    row.node_list = "n[1-16]";
    row.submitted = {1764522477LL * 1000000};
    reply.rows.push_back(std::move(row));
  }
  const auto begun = std::chrono::steady_clock::now();
  const std::string json = to_json(reply);
  const auto spent = std::chrono::steady_clock::now() - begun;
  RecordProperty(
      "ms", static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(spent).count()));
  EXPECT_GT(json.size(), 1000000U);
  EXPECT_LT(spent, std::chrono::seconds(5));  // 50 ms is the budget of a release build.
}

}  // namespace
}  // namespace muster
