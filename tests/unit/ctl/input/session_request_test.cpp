// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/session_request.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ktraced {
namespace {

using nlohmann::json;

const json kRecorder =
    json::parse(R"({"pid":[],"comm":["nginx*"],"exclude":{"uid":[0]},"syscall":["read"]})");

TEST(SessionRequest, IsEmptyForWhatTheRecorderRecords) {
  EXPECT_FALSE(has_own_filter({}, {}));
  EXPECT_EQ(session_request({}, {}, kRecorder), json::object());
}

TEST(SessionRequest, HasEventsWithoutAFilter) {
  EXPECT_FALSE(has_own_filter({.events = {"kmem"}}, {}));
  EXPECT_EQ(session_request({.events = {"kmem", "irq:*"}}, {}, kRecorder),
            json::parse(R"({"events":["kmem","irq:*"]})"));
}

TEST(SessionRequest, SelectsTheEventsWithStacksTooIfItSelectsAny) {
  EXPECT_EQ(session_request({}, {.stacks = {"kfree"}}, kRecorder),
            json::parse(R"({"stacks":["kfree"]})"));
  EXPECT_EQ(session_request({.events = {"sched"}}, {.stacks = {"kfree"}}, kRecorder),
            json::parse(R"({"events":["sched","kfree"],"stacks":["kfree"]})"));
}

TEST(SessionRequest, ReplacesTheTasksOfTheRecorder) {
  EXPECT_TRUE(has_own_filter({.pids = {812}}, {}));
  EXPECT_EQ(session_request({.pids = {812}}, {}, kRecorder),
            json::parse(R"({"filter":{"pid":[812],"exclude":{"uid":[0]},"syscall":["read"]}})"));
}

TEST(SessionRequest, ReplacesTheSystemCallsOfTheRecorder) {
  EXPECT_TRUE(has_own_filter({}, {.syscalls = {"openat"}}));
  EXPECT_EQ(
      session_request({}, {.syscalls = {"openat"}}, kRecorder)["filter"],
      json::parse(R"({"pid":[],"comm":["nginx*"],"exclude":{"uid":[0]},"syscall":["openat"]})"));
}

TEST(SessionEvents, AreThoseOfTheSelectedSystemCallsIfNoneIsNamed) {
  using Events = std::vector<std::string>;
  EXPECT_EQ(session_events({}, {}), Events());
  EXPECT_EQ(session_events({.pids = {812}}, {.cgroups = {"/c"}}), Events());
  EXPECT_EQ(session_events({}, {.syscalls = {"openat"}}), (Events{"sys_enter", "sys_exit"}));
  EXPECT_EQ(session_events({.errors = {"ENOENT"}}, {}), Events{"sys_exit"});
  EXPECT_EQ(session_events({.errors = {"any"}}, {.syscalls = {"openat"}}), Events{"sys_exit"});
  EXPECT_EQ(session_events({.events = {"sys_enter"}, .errors = {"any"}}, {.syscalls = {"openat"}}),
            Events{"sys_enter"});
}

TEST(SessionRequest, OfAllTasksHasNoneExcluded) {
  EXPECT_EQ(session_request({}, {.all = true}, kRecorder),
            json::parse(R"({"filter":{"syscall":["read"]}})"));
  EXPECT_EQ(session_request({}, {.all = true}, nullptr), json::parse(R"({"filter":{}})"));
}

TEST(SessionRequest, HasAllThatTheKernelSelects) {
  EXPECT_EQ(session_request({.events = {"sys_enter"}, .pids = {1}, .uids = {2, 3}, .comms = {"x*"}},
                            {.follow = {4},
                             .cgroups = {"/c"},
                             .syscalls = {"openat"},
                             .buffer_kb = 256,
                             .name = "mine"},
                            nullptr),
            json::parse(R"({"events":["sys_enter"],"buffer_kb":256,"name":"mine",
                            "filter":{"pid":[1],"uid":[2,3],"comm":["x*"],"follow":[4],
                                      "cgroup":["/c"],"syscall":["openat"]}})"));
}

}  // namespace
}  // namespace ktraced
