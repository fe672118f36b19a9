// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/known_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ctl/input/trace_texts.h"
#include "trace/merge/history.h"
#include "unit/support/recorded.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

KnownTasks tasks_of(const char* trace) {
  const auto history = History::open(std::vector<std::filesystem::path>{kRecorded / trace});
  EXPECT_TRUE(history);
  return history ? known_tasks(*history) : KnownTasks();
}

TEST(KnownTasks, SayWhyAnOptionSelectsNoTask) {
  const KnownTasks tasks = tasks_of("6.12-whole");
  EXPECT_EQ(tasks.why_no_pid({4711}), "no process or thread has this id");
  EXPECT_EQ(tasks.why_no_tid({4711, 4712}), "no thread has one of these ids");
  EXPECT_EQ(tasks.why_no_uid({1000}), "no task is of this user; there are tasks of 0");
  EXPECT_EQ(tasks.why_no_comm({"sleepp"}), "no task has this name; did you mean 'sleep'?");
  EXPECT_EQ(tasks.why_no_comm({"slep*"}), "no task has this name; did you mean 'sleep'?");
  EXPECT_EQ(tasks.why_no_comm({"no", "such"}), "no task has one of these names");
  EXPECT_EQ(tasks.why_no_cpu({7}), "the trace is of CPUs 0, 1");
  EXPECT_EQ(tasks.why_no_cgroup({"nginx.service"}), "the trace has no control groups");
}

TEST(KnownTasks, KnowWhateverSelectsATask) {
  const KnownTasks tasks = tasks_of("6.12-strings");
  EXPECT_EQ(tasks.why_no_comm({"nosuch", "slee*"}), "");
  EXPECT_EQ(tasks.why_no_comm({"swapper/1"}), "") << "the idle task of a CPU";
  EXPECT_EQ(tasks.why_no_uid({0}), "");
  EXPECT_EQ(tasks.why_no_pid({0}), "");
  EXPECT_EQ(tasks.why_no_cpu({0, 99}), "");
  for (const char* group :
       {"/", "/kubepods.slice", "0123456789ab", "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"})
    EXPECT_EQ(tasks.why_no_cgroup({group}), "") << group;
}

TEST(KnownTasks, SuggestControlGroups) {
  const KnownTasks tasks = tasks_of("6.12-strings");
  EXPECT_THAT(tasks.why_no_cgroup({"kubepods.slic"}),
              HasSubstr("no task was in this group; did you mean 'kubepods.slice/"));
  EXPECT_THAT(tasks.why_no_cgroup({"nosuch/group"}),
              HasSubstr("no task was in this group; ktracectl query DIR 'SELECT DISTINCT cgroup"));
}

TEST(KnownTasks, NameTheUnknownOnesAmongSeveralValues) {
  const KnownTasks tasks = tasks_of("6.12-strings");
  EXPECT_THAT(tasks.partly_unknown({.comms = {"sleep", "sleeq"}, .cgroups = {"nosuch/group", "/"}}),
              ElementsAre("--comm sleeq: no task has this name; did you mean 'sleep'?",
                          HasSubstr("--cgroup nosuch/group: no task was in this group; ")));
  EXPECT_THAT(tasks.partly_unknown({.uids = {7}, .comms = {"sleeq"}}), IsEmpty())
      << "they select nothing at all";
}

TEST(KnownTasks, SayNothingWithoutTasks) {
  EXPECT_EQ(KnownTasks().why_no_pid({1}), "");
  EXPECT_EQ(KnownTasks().why_no_comm({"x"}), "");
  EXPECT_EQ(KnownTasks().why_no_cgroup({"x"}), "");
}

}  // namespace
}  // namespace ktraced::test
