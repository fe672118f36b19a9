// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json a_session() {
  return json::parse(R"({
    "name": "client-1", "pid": 812, "uid": 1000, "age_ns": 12340000000, "state": "recording",
    "own_events": true, "own_filter": false, "events": ["a", "b", "c", "d", "e"],
    "filter": {"comm": ["nginx*"], "pid": []}, "ring_bytes": 65536,
    "rings": [{"cpu": 1, "ring_bytes": 65536, "consumed": 100, "produced": 1300}],
    "totals": {"recorded": 1234, "filtered": 5, "dropped": 6, "missed": 7, "overwritten": 0},
    "counts": {"a": {"enabled": true, "recorded": 1234, "filtered": 5, "dropped": 6, "missed": 7}}
  })");
}

TEST(SessionListView, HasALineForEachSession) {
  json recorder = a_session();
  recorder["name"] = "recorder";
  recorder["pid"] = 0;
  recorder["rings"] = json::array();
  recorder["filter"] = json::object();
  recorder["events"] = {"a"};
  EXPECT_EQ(session_list_view({{"sessions", {recorder, a_session()}}}, Colours(false)),
            "SESSION   STATE      OWNER                  AGE       RINGS  RECORDED  FILTERED  "
            "DROPPED  MISSED  EVENTS        FILTER\n"
            "recorder  recording  ktraced             12.3 s           -     1,234         5  "
            "      6       7  a             none\n"
            "client-1  recording  pid 812 (uid 1000)  12.3 s  1 x 64 KiB     1,234         5  "
            "      6       7  a and 4 more  comm=nginx*\n");
}

TEST(SessionListView, TruncatesLongFilters) {
  json session = a_session();
  session["filter"] = {{"comm", {std::string(50, 'x')}}};
  EXPECT_THAT(session_list_view({{"sessions", {session}}}, Colours(false)),
              HasSubstr("comm=" + std::string(32, 'x') + "...\n"));
}

TEST(SessionListView, SaysThatThereIsNone) {
  EXPECT_EQ(session_list_view({{"sessions", json::array()}}, Colours(false)),
            "no session: nothing is recorded\n");
}

TEST(SessionView, ShowsOwnerSelectionCountsAndRings) {
  EXPECT_EQ(session_view(a_session(), Colours(false)),
            "session client-1: recording, for 12.3 s\n"
            "owner: pid 812 (uid 1000)\n"
            "events: a, b, c, d, e\n"
            "filter (of the recorder): comm=nginx*\n"
            "\n"
            "EVENT  STATE  RECORDED  FILTERED  DROPPED  MISSED  OVERWRITTEN\n"
            "a      on        1,234         5        6       7            0\n"
            "total            1,234         5        6       7            0\n"
            "\n"
            "SESSION   CPU    SIZE  PRODUCED  CONSUMED  UNREAD\n"
            "client-1    1  64 KiB     1,300       100   1,200\n");
}

TEST(SessionView, LeavesOutTheRingsOfTheRecorder) {
  json recorder = a_session();
  recorder["name"] = "recorder";
  recorder["rings"] = json::array();
  EXPECT_THAT(session_view(recorder, Colours(false)), Not(HasSubstr("PRODUCED")));
  EXPECT_THAT(session_view(recorder, Colours(false)), Not(HasSubstr("of the recorder")));
}

TEST(SessionViews, SurviveAnswersOfAnotherForm) {
  for (const char* text : {"{}", "[]", "7", R"({"sessions":[1,{"events":7,"rings":[3]}]})"}) {
    EXPECT_NE(session_list_view(json::parse(text), Colours(false)), "");
    EXPECT_NE(session_view(json::parse(text), Colours(false)), "");
  }
}

}  // namespace
}  // namespace ktraced
