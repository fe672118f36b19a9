// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_set.h"
#include "daemon/sessions/session_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace ktraced {
namespace {

using testing::HasSubstr;

class SessionSetTest : public testing::Test {
 protected:
  // A session that records.
  Session& open(const std::string& name = {}, uid_t uid = 0) {
    Session& session = **sessions.add(name, {.pid = 1, .uid = uid}, 100);
    session.has_sink = true;
    return session;
  }
  std::string error(const std::string& name, uid_t uid = 0) {
    auto added = sessions.add(name, {.pid = 1, .uid = uid}, 100);
    return added ? "" : added.error().message;
  }

  EventSet enabled{"kfree", "sched_switch"};
  SessionSet sessions{enabled};
};

TEST_F(SessionSetTest, HasTheRecorderAndTheOutputFromTheBeginning) {
  EXPECT_EQ(sessions.recorder().name, "recorder");
  EXPECT_EQ(sessions.output().name, "output");
  EXPECT_FALSE(any_records(sessions));
  EXPECT_EQ(recording(sessions, "kfree"), 0U);
}

TEST_F(SessionSetTest, GivesEachSessionANumberOfItsOwnAndReusesIt) {
  std::set<uint32_t> numbers;
  for (int i = SESSION_CLIENT_FIRST; i < SESSIONS_MAX; ++i) numbers.insert(open().number);
  EXPECT_EQ(numbers.size(), size_t{SESSIONS_MAX - SESSION_CLIENT_FIRST});
  EXPECT_THAT(error(""), HasSubstr("all 6 sessions of clients are in use"));
  sessions.remove(4);
  const Session& next = open("again");
  EXPECT_EQ(next.number, 4U);
  EXPECT_EQ(sessions.find(4), &next);
}

TEST_F(SessionSetTest, RefusesBadAndUsedNames) {
  open("mine");
  EXPECT_THAT(error("mine"), HasSubstr("there is a session 'mine' already"));
  EXPECT_THAT(error("recorder"), HasSubstr("already"));
  EXPECT_THAT(error("a b"), HasSubstr("letters, digits"));
  for (const char* name : {"-x", "..", ".", ".a"})
    EXPECT_THAT(error(name), HasSubstr("must not begin with '-' or '.'")) << name;
  EXPECT_EQ(error("a-.b"), "");
  EXPECT_THAT(error(std::string(65, 'a')), HasSubstr("1 to 64"));
  EXPECT_EQ(error(std::string(64, 'a')), "");
  EXPECT_THAT(sessions.named("nobody").error().message, HasSubstr("no session 'nobody'"));
}

TEST_F(SessionSetTest, LimitsTheSessionsOfAUser) {
  for (int i = 0; i < 3; ++i) open("", 4711);
  EXPECT_THAT(error("", 4711), HasSubstr("uid 4711 has 3 sessions"));
  EXPECT_EQ(error("", 4712), "");
  EXPECT_EQ(error("", 4712), "");
  EXPECT_THAT(error("", 4713), HasSubstr("all 5 sessions of ordinary users are in use"));
  EXPECT_EQ(error("", 0), "") << "one is left for administrators";
}

TEST_F(SessionSetTest, FindsANameThatNobodyHasTaken) {
  open("client-1");
  open("client-2");
  EXPECT_EQ(open().name, "client-3");
}

TEST_F(SessionSetTest, ASessionFollowsTheRecorderInWhatItHasNotAskedFor) {
  sessions.recorder().has_sink = true;
  sessions.recorder().own_filter = OwnFilter::of({.include = {.pid = {5}}});
  Session& plain = open();
  Session& own = open();
  own.own_events = EventSet{"sys_enter"};
  own.own_filter = OwnFilter::of({});
  EXPECT_EQ(recording(sessions, "kfree"), sessions.recorder().bit() | plain.bit());
  EXPECT_EQ(recording(sessions, "sys_enter"), own.bit());
  EXPECT_EQ(filter_of(sessions, plain).include.pid, std::vector<uint32_t>{5});
  EXPECT_TRUE(filter_of(sessions, own).include.pid.empty());
  for (const uint32_t following :
       {with_tasks_of_recorder(sessions), with_syscalls_of_recorder(sessions)})
    EXPECT_EQ(following & (plain.bit() | own.bit()), plain.bit());
  enabled.erase("kfree");
  EXPECT_EQ(recording(sessions, "kfree"), 0U);
}

TEST_F(SessionSetTest, ASessionHasTheStacksOfTheRecorderIfItHasItsEvents) {
  sessions.recorder().own_stacks = EventSet{"kfree"};
  Session& plain = open();
  Session& events = open();
  events.own_events = EventSet{"kfree"};
  Session& stacks = open();
  stacks.own_stacks = EventSet{"sched_switch"};
  EXPECT_EQ(stacks_of(sessions, plain), EventSet{"kfree"});
  EXPECT_EQ(stacks_of(sessions, events), EventSet{});
  EXPECT_EQ(stacks_of(sessions, stacks), EventSet{"sched_switch"});
  EXPECT_TRUE(follows_recorder(plain));
  EXPECT_FALSE(follows_recorder(stacks));
  EXPECT_EQ(with_stacks(sessions, "kfree") & (plain.bit() | events.bit() | stacks.bit()),
            plain.bit());
  EXPECT_EQ(with_stacks(sessions, "sched_switch"), stacks.bit());
  EXPECT_EQ(with_stacks(sessions, "kmalloc"), 0U);
}

// A switch to one of its threads is recorded in the process of another user.
TEST_F(SessionSetTest, GivesNoStacksToReadersOfTheirOwnProcesses) {
  sessions.recorder().own_stacks = EventSet{"sched_switch"};
  Session& reader = open();
  reader.owner.own_only = true;
  EXPECT_EQ(stacks_of(sessions, reader), EventSet{});
}

TEST_F(SessionSetTest, ASessionMayHaveOnlyOnePartOfAFilterOfItsOwn) {
  sessions.recorder().own_filter =
      OwnFilter::of({.include = {.pid = {5}}, .exclude = {}, .syscall = {"openat"}});
  Session& tasks = open();
  tasks.own_filter.tasks = TaskFilter{.include = {.pid = {6}}, .exclude = {}};
  Session& calls = open();
  calls.own_filter.syscalls.emplace();
  EXPECT_EQ(filter_of(sessions, tasks),
            (FilterSettings{.include = {.pid = {6}}, .exclude = {}, .syscall = {"openat"}}));
  EXPECT_EQ(filter_of(sessions, calls),
            (FilterSettings{.include = {.pid = {5}}, .exclude = {}, .syscall = {}}));
  EXPECT_EQ(with_tasks_of_recorder(sessions) & (tasks.bit() | calls.bit()), calls.bit());
  EXPECT_EQ(with_syscalls_of_recorder(sessions) & (tasks.bit() | calls.bit()), tasks.bit());
  EXPECT_FALSE(follows_recorder(tasks));
  EXPECT_FALSE(follows_recorder(calls));
}

TEST_F(SessionSetTest, APausedRecorderPausesOnlyThoseThatFollowIt) {
  sessions.recorder().has_sink = true;
  Session& plain = open();
  Session& own = open();
  own.own_events = EventSet{"sched_switch"};
  sessions.recorder().paused = true;
  EXPECT_FALSE(records(sessions, plain));
  EXPECT_EQ(recording(sessions, "sched_switch"), own.bit());
  own.paused = true;
  EXPECT_FALSE(any_records(sessions));
}

TEST_F(SessionSetTest, GivesStringsToReadersOnlyAsTheRecorderRecordsThem) {
  Session& reader = open();
  reader.owner.only_reads = true;
  EXPECT_TRUE(may_record(reader, "sys_enter_string"));
  reader.own_filter = OwnFilter::of({});
  EXPECT_FALSE(may_record(reader, "sys_enter_string"));
  EXPECT_FALSE(may_record(reader, "cpu_sample"));
  EXPECT_TRUE(may_record(reader, "sys_enter"));
  reader.own_filter = {};
  reader.own_events = EventSet{"sys_exit_string"};
  EXPECT_FALSE(may_record(reader, "sys_exit_string"));
  reader.owner.only_reads = false;
  EXPECT_TRUE(may_record(reader, "sys_exit_string"));
}

TEST_F(SessionSetTest, GivesNoDynamicEventsToReadersOfTheirOwnProcesses) {
  Session& reader = open();
  reader.owner.only_reads = true;
  EXPECT_TRUE(may_record(reader, "irq:irq_handler_entry"));
  reader.owner.own_only = true;
  EXPECT_FALSE(may_record(reader, "irq:irq_handler_entry"));
  EXPECT_TRUE(may_record(reader, "kmalloc"));
}

}  // namespace
}  // namespace ktraced
