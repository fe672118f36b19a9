// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr uint64_t kSecond = 1'000'000'000;

json hits_json(uint64_t recorded, uint64_t filtered, uint64_t dropped, uint64_t missed) {
  return {{"recorded", recorded}, {"filtered", filtered}, {"dropped", dropped}, {"missed", missed}};
}

json status_json_with(const json& hits, bool enabled = true) {
  json event = hits;
  event["enabled"] = enabled;
  return {{"state", "running"},
          {"version", "1.0"},
          {"totals", hits},
          {"events", {{"kfree", event}, {"unused", {{"enabled", false}}}}},
          {"sessions",
           {{{"name", "recorder"}, {"state", "recording"}, {"totals", hits}},
            {{"name", "client-1"}, {"pid", 7}, {"uid", 1000}, {"totals", hits}}}},
          {"flight", {{"enabled", true}, {"reach_ns", 5 * kSecond}}}};
}

std::vector<std::string> texts_of(const TopRow& row) {
  std::vector<std::string> texts;
  for (const TopCell& cell : row) texts.push_back(cell.text);
  return texts;
}

TEST(Reading, HasTheEventsThatAreOnOrHaveCounted) {
  const Reading reading = reading_of(status_json_with(hits_json(1, 2, 3, 4)), 5);
  EXPECT_EQ(reading.at_ns, 5U);
  ASSERT_EQ(reading.events.size(), 1U);
  EXPECT_EQ(reading.events.at("kfree").dropped, 3U);
  EXPECT_EQ(reading.totals.missed, 4U);
  EXPECT_EQ(reading.flight_reach_ns, 5 * kSecond);
  ASSERT_EQ(reading.sessions.size(), 2U);
  EXPECT_EQ(reading.sessions[0].sink, "flight recorder");
  EXPECT_EQ(reading.sessions[1].sink, "client");
  EXPECT_EQ(reading.sessions[1].owner, "pid 7 (uid 1000)");
}

TEST(Reading, AcceptsAnyJson) {
  for (const json& status : {json(), json(3), json::array(), json{{"events", {1, 2}}},
                             json{{"sessions", {{"name", 1}}}, {"totals", "x"}}})
    EXPECT_EQ(reading_of(status, 1).totals.recorded, 0U) << status;
}

TEST(Rates, ArePerSecondOfTheTimeBetweenTheReadings) {
  const Reading before = reading_of(status_json_with(hits_json(100, 10, 0, 0)), kSecond);
  const Reading now = reading_of(status_json_with(hits_json(2100, 12, 4, 0)), 3 * kSecond);
  const TopTable events = events_table(before, now);
  ASSERT_EQ(events.rows.size(), 1U);
  EXPECT_THAT(texts_of(events.rows[0]), ElementsAre("kfree", "1,003", "1,000", "1.0", "2.0", "0"));
  EXPECT_TRUE(events.rows[0][4].alarm);
  EXPECT_FALSE(events.rows[0][5].alarm);

  const TopHeader header = header_of(before, now, "?");
  EXPECT_EQ(header.rates.recorded, 1000);
  EXPECT_EQ(header.rates.lost(), 2);
  EXPECT_EQ(header.sessions, 2U);
  EXPECT_EQ(sessions_table(before, now).rows.size(), 2U);
}

TEST(Rates, StartAgainAfterAReset) {
  const Reading before = reading_of(status_json_with(hits_json(1000, 0, 0, 0)), kSecond);
  const Reading now = reading_of(status_json_with(hits_json(50, 0, 0, 0)), 2 * kSecond);
  EXPECT_EQ(header_of(before, now, "").rates.recorded, 50);
  EXPECT_GT(seconds_between(now, now), 0);
}

TEST(Rates, OfASessionThatHasTheNameOfAnEarlierOneCountFromZero) {
  json later = status_json_with(hits_json(300, 0, 0, 0));
  later["sessions"][1]["pid"] = 8;
  const Reading before = reading_of(status_json_with(hits_json(200, 0, 0, 0)), kSecond);
  const TopTable sessions = sessions_table(before, reading_of(later, 2 * kSecond));
  EXPECT_EQ(sessions.rows[0][1].text, "100");
  EXPECT_EQ(sessions.rows[1][1].text, "300");
}

TEST(RateText, HasDigitsThatMatter) {
  EXPECT_EQ(rate_text(0), "0");
  EXPECT_EQ(rate_text(-1), "0");
  EXPECT_EQ(rate_text(0.25), "0.2");
  EXPECT_EQ(rate_text(9.96), "10");
  EXPECT_EQ(rate_text(1234567.4), "1,234,567");
}

TEST(TopTable, IsSortedByNumbersFromTheLargestAndByTextsFromA) {
  const TopTable table{.columns = {{.title = "NAME", .is_text = true}, {.title = "RATE"}},
                       .rows = {{text_cell("b"), rate_cell(1)},
                                {text_cell("c"), rate_cell(3)},
                                {text_cell("a"), rate_cell(1)}}};
  const auto names = [&](const TopSorting& sorting, std::string_view filter = "") {
    std::string out;
    for (const TopRow& row : arranged(table, sorting, filter).rows) out += row[0].text;
    return out;
  };
  EXPECT_EQ(names({.column = 1}), "cab");
  EXPECT_EQ(names({.column = 1, .reversed = true}), "abc");
  EXPECT_EQ(names({.column = 0}), "abc");
  EXPECT_EQ(names({.column = 0, .reversed = true}), "cba");
  EXPECT_EQ(names({.column = 9}), "cab") << "no such column: the last one";
  EXPECT_EQ(names({.column = 0}, "b"), "b");
  EXPECT_EQ(names({.column = 0}, "3"), "") << "numbers are no names";
  EXPECT_TRUE(arranged({}, {}, "x").rows.empty());
}

TEST(TopTable, SortsUnknownNumbersAsTheSmallest) {
  const TopTable table{.columns = {{.title = "NAME", .is_text = true}, {.title = "CPU %"}},
                       .rows = {{text_cell("a"), unknown_cell()},
                                {text_cell("b"), rate_cell(0)},
                                {text_cell("c"), unknown_cell()},
                                {text_cell("d"), rate_cell(1)}},
                       .note = "x"};
  const TopTable falling = arranged(table, {.column = 1}, "");
  EXPECT_EQ(falling.rows[0][0].text, "d");
  EXPECT_EQ(falling.rows[1][0].text, "b");
  EXPECT_EQ(falling.rows[2][0].text, "a");
  EXPECT_EQ(falling.note, "x");
  EXPECT_EQ(arranged(table, {.column = 1, .reversed = true}, "").rows[0][0].text, "a");
}

}  // namespace
}  // namespace ktraced
