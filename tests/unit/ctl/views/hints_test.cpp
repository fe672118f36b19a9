// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const json kListed = json::parse(R"([
  {"name": "kmalloc", "group": "kmem", "enabled": false, "available": true},
  {"name": "mark_victim", "group": "oom", "enabled": false, "available": false,
   "reason": "this kernel has no such tracepoint"}])");

TEST(UnavailableEvents, HaveTheReason) {
  EXPECT_THAT(unavailable_events({"kmalloc", "mark_victim"}, kListed),
              ElementsAre("mark_victim is not available: this kernel has no such tracepoint"));
  EXPECT_THAT(unavailable_events({}, kListed), IsEmpty());
}

TEST(SessionHints, SayWhenNoEventIsEnabled) {
  json session = {{"own_events", false}, {"events", json::array()}, {"state", "recording"}};
  EXPECT_THAT(session_hints(session), ElementsAre(HasSubstr("no event is enabled")));
  session["events"] = {"kmalloc"};
  EXPECT_THAT(session_hints(session), IsEmpty());
}

TEST(SessionHints, SayWhenTracingIsPaused) {
  EXPECT_THAT(session_hints({{"events", {"kmalloc"}}, {"state", "paused"}}),
              ElementsAre("tracing is paused: 'ktracectl resume' continues it"));
}

TEST(SessionHints, NameTheFilterThatASelectionOfEventsKeeps) {
  json session = {{"own_events", true},
                  {"own_filter", false},
                  {"events", {"kmalloc"}},
                  {"filter", {{"comm", {"nginx*"}}}}};
  EXPECT_THAT(session_hints(session),
              ElementsAre("the filter of the recorder applies: comm=nginx*"));
  session["own_filter"] = true;
  EXPECT_THAT(session_hints(session), IsEmpty());
}

}  // namespace
}  // namespace ktraced
