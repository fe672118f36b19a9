// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/exact_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Schema small_schema() {
  Schema schema;
  uint16_t id = 1;
  for (const auto& [name, group] :
       {std::pair("kfree", "kmem"), std::pair("sched_switch", "sched"),
        std::pair("sys_enter", "syscalls"), std::pair("sys_enter_string", "strings"),
        std::pair("sys_completed", "completed")})
    schema.add({.id = id++, .name = name, .group = group});
  return schema;
}

EventSet exact(const ExactConfig& config, bool preemptible) {
  KernelFeatures features;
  features.flags.preemptible = preemptible ? 1 : 0;
  return exact_events(config, features, small_schema());
}

TEST(ExactEvents, AreThoseOfInterruptsUnlessProgramsCanBePreempted) {
  EXPECT_THAT(exact({}, false), ElementsAre("kfree"));
  EXPECT_THAT(exact({}, true),
              ElementsAre("kfree", "sys_completed", "sys_enter", "sys_enter_string"));
}

TEST(ExactEvents, FollowTheConfiguration) {
  EXPECT_THAT(exact({.kmem = Exact::never, .syscalls = Exact::never}, true), IsEmpty());
  EXPECT_THAT(exact({.kmem = Exact::never, .syscalls = Exact::always}, false),
              ElementsAre("sys_completed", "sys_enter", "sys_enter_string"));
}

}  // namespace
}  // namespace ktraced
