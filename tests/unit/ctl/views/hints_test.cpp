// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const json kListed = json::parse(R"([
  {"name": "kmalloc", "group": "kmem", "enabled": false, "available": true},
  {"name": "kfree", "group": "kmem", "enabled": false, "available": true},
  {"name": "sched_switch", "group": "sched", "enabled": true, "available": true},
  {"name": "sched_waking", "group": "sched", "enabled": false, "available": true},
  {"name": "mark_victim", "group": "oom", "enabled": false, "available": false,
   "reason": "this kernel has no such tracepoint"}])");

TEST(DisabledEvents, AreOneSentenceThatNamesTheWholeGroup) {
  EXPECT_THAT(disabled_events({"kmalloc", "kfree"}, kListed),
              ElementsAre("kmalloc, kfree are not enabled: 'ktracectl events enable kmem' enables "
                          "them"));
}

TEST(DisabledEvents, AreNamedWhenTheirGroupHasOthers) {
  EXPECT_THAT(disabled_events({"sched_waking", "sched_switch"}, kListed),
              ElementsAre("sched_waking is not enabled: 'ktracectl events enable sched_waking' "
                          "enables it"));
}

TEST(DisabledEvents, HaveTheReasonWhenTheyAreNotAvailable) {
  EXPECT_THAT(disabled_events({"mark_victim"}, kListed),
              ElementsAre("mark_victim is not available: this kernel has no such tracepoint"));
  EXPECT_THAT(disabled_events({}, kListed), IsEmpty());
}

}  // namespace
}  // namespace ktraced
