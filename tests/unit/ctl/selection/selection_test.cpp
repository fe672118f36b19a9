// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/coverage/call_result.h"
#include "unit/support/packets.h"
#include "unit/support/schema.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class SelectionTest : public ::testing::Test {
 protected:
  SelectionTest() {
    for (const Bytes& name : {task_name(100, 1, 100, "nginx"), task_name(101, 1, 100, "nginx-io"),
                              task_name(200, 1, 200, "bash")})
      names_.apply(RecordView(name.data()));
  }
  Selection select(const SelectionArgs& args) {
    auto selection = Selection::make(args, schema_);
    EXPECT_TRUE(selection) << selection.error().message;
    return std::move(*selection);
  }
  bool wants(const SelectionArgs& args, const Bytes& record) {
    return select(args).wants(3, RecordView(record.data()), names_);
  }
  static Bytes alloc_by(uint32_t tid) { return make_record(EVENT_kmalloc, 10, tid, rec_kmalloc{}); }
  static Bytes waking_of(uint32_t by, s32 pid) {
    return make_record(EVENT_sched_waking, 10, by, rec_sched_waking{.pid = pid});
  }

  Schema schema_ = built_schema();
  NameTable names_;
};

TEST_F(SelectionTest, AcceptsEverythingByDefault) {
  EXPECT_TRUE(wants({}, alloc_by(100)));
  EXPECT_TRUE(wants({}, bare_record(1, 1999)));
  EXPECT_TRUE(select({}).chosen_events().empty());
}

TEST_F(SelectionTest, ByEventAndGroup) {
  EXPECT_TRUE(wants({.events = {"kmalloc"}}, alloc_by(100)));
  EXPECT_TRUE(wants({.events = {"kfree", "kmalloc"}}, alloc_by(100)));
  EXPECT_TRUE(wants({.events = {"kmem"}}, alloc_by(100)));
  EXPECT_FALSE(wants({.events = {"kfree"}}, alloc_by(100)));
  EXPECT_FALSE(wants({.events = {"kmem"}}, bare_record(1, 1999)));
  EXPECT_THAT(select({.events = {"syscalls"}}).chosen_events(),
              ElementsAre("sys_enter", "sys_exit"));
}

TEST_F(SelectionTest, RefusesAnEmptyCondition) {
  for (const char* where : {"", " "}) {
    const auto selection = Selection::make({.where = {where}}, schema_);
    ASSERT_FALSE(selection);
    EXPECT_EQ(selection.error().message, "--where is empty: write a condition, as 'ret < 0'");
  }
}

TEST_F(SelectionTest, ByControlGroup) {
  for (const Bytes& name : {task_in_cgroup(300, 1, 300, 11), cgroup_path(11, "/system.slice/a")})
    names_.apply(RecordView(name.data()));
  EXPECT_TRUE(wants({.cgroups = {"system.slice"}}, alloc_by(300)));
  EXPECT_FALSE(wants({.cgroups = {"user.slice"}}, alloc_by(300)));
  EXPECT_TRUE(wants({.cgroups = {"user.slice", "11"}}, waking_of(100, 300))) << "either task";
  EXPECT_FALSE(wants({.cgroups = {"system.slice"}}, alloc_by(100))) << "its group is unknown";
}

TEST_F(SelectionTest, ByThreadAndProcess) {
  EXPECT_TRUE(wants({.pids = {100}}, alloc_by(100)));
  EXPECT_TRUE(wants({.pids = {100}}, alloc_by(101))) << "a thread of process 100";
  EXPECT_FALSE(wants({.pids = {101}}, alloc_by(100)));
  EXPECT_TRUE(wants({.pids = {7, 200}}, alloc_by(200)));
  EXPECT_TRUE(wants({.pids = {999}}, alloc_by(999))) << "only its id is known";
}

TEST_F(SelectionTest, ByName) {
  EXPECT_TRUE(wants({.comms = {"nginx"}}, alloc_by(100)));
  EXPECT_FALSE(wants({.comms = {"nginx"}}, alloc_by(101)));
  EXPECT_TRUE(wants({.comms = {"nginx*"}}, alloc_by(101)));
  EXPECT_TRUE(wants({.comms = {"x", "ba*"}}, alloc_by(200)));
  EXPECT_TRUE(wants({.comms = {"*"}}, alloc_by(200)));
  EXPECT_FALSE(wants({.comms = {"nginx"}}, alloc_by(999)));
  EXPECT_TRUE(wants({.comms = {"swapper/3"}}, alloc_by(0)));
}

TEST_F(SelectionTest, ByUser) {
  EXPECT_TRUE(wants({.uids = {7, 1000}}, alloc_by(100)));
  EXPECT_FALSE(wants({.uids = {1001}}, alloc_by(100)));
  EXPECT_FALSE(wants({.uids = {1000}}, alloc_by(999))) << "its user is unknown";
  EXPECT_TRUE(wants({.uids = {0}}, alloc_by(0))) << "the idle tasks are root's";
  EXPECT_TRUE(wants({.uids = {1000}}, waking_of(0, 200)));
}

TEST_F(SelectionTest, AllConditionsMustHold) {
  EXPECT_TRUE(wants({.events = {"kmalloc"}, .pids = {100}, .comms = {"nginx*"}}, alloc_by(101)));
  EXPECT_FALSE(wants({.pids = {100}, .comms = {"bash"}}, alloc_by(101)));
  EXPECT_FALSE(wants({.events = {"kfree"}, .pids = {100}}, alloc_by(100)));
}

TEST_F(SelectionTest, MatchesEitherTaskOfAnEvent) {
  EXPECT_TRUE(wants({.pids = {100}}, waking_of(200, 101)));
  EXPECT_TRUE(wants({.pids = {200}}, waking_of(200, 101)));
  EXPECT_FALSE(wants({.pids = {300}}, waking_of(200, 101)));
  EXPECT_TRUE(wants({.comms = {"nginx-io"}}, waking_of(200, 101)));
  EXPECT_FALSE(wants({.pids = {200}, .comms = {"nginx-io"}}, waking_of(200, 101)))
      << "one task must match all conditions";
}

TEST_F(SelectionTest, SelectsByTheTasksThatTheFilterOfTheKernelMatches) {
  const Bytes exec =
      make_record(EVENT_sched_process_exec, 10, 200,
                  rec_sched_process_exec{.pid = 200, .old_pid = 200, .parent_pid = 100});
  EXPECT_TRUE(wants({.pids = {200}}, exec));
  EXPECT_FALSE(wants({.pids = {100}}, exec)) << "the parent of the process that executes";
  EXPECT_FALSE(wants({.tids = {100}}, exec));
  EXPECT_FALSE(wants({.comms = {"nginx"}}, exec));
  const Bytes fork =
      make_record(EVENT_sched_process_fork, 10, 101,
                  rec_sched_process_fork{.parent_pid = 101, .child_pid = 200, .child_tgid = 100});
  EXPECT_TRUE(wants({.tids = {101}}, fork)) << "that forks";
  EXPECT_TRUE(wants({.tids = {200}}, fork)) << "the child";
  EXPECT_FALSE(wants({.tids = {100}}, fork)) << "the first thread of the child's process";
  const Bytes victim =
      make_record(EVENT_mark_victim, 10, 200, rec_mark_victim{.pid = 100, .uid = 0});
  EXPECT_TRUE(wants({.pids = {200}}, victim));
  EXPECT_FALSE(wants({.pids = {100}}, victim)) << "the kernel asks for the current task";
  const Bytes signal = make_record(EVENT_signal_generate, 10, 200, rec_signal_generate{.pid = 100});
  EXPECT_TRUE(wants({.pids = {100}}, signal)) << "the receiver";
}

TEST_F(SelectionTest, SelectsARenameByTheNameBeforeIt) {
  rec_task_rename fields{.pid = 101};
  copy_text("worker", fields.oldcomm);
  copy_text("nginx-io", fields.newcomm);
  const Bytes rename = make_record(EVENT_task_rename, 10, 101, fields);
  EXPECT_TRUE(wants({.comms = {"worker"}}, rename));
  EXPECT_FALSE(wants({.comms = {"nginx-io"}}, rename));
  EXPECT_TRUE(wants({.pids = {100}, .comms = {"worker"}}, rename));
  const Bytes by_another = make_record(EVENT_task_rename, 10, 200, fields);
  EXPECT_TRUE(wants({.comms = {"bash"}}, by_another)) << "that renames it";
  EXPECT_TRUE(wants({.comms = {"worker"}}, by_another));
}

TEST_F(SelectionTest, ReportsUnknownEventsWithSimilarNames) {
  auto selection = Selection::make({.events = {"sched_swich"}}, schema_);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().code, ExitCode::usage);
  EXPECT_THAT(selection.error().message,
              HasSubstr("unknown event or group 'sched_swich'; did you mean 'sched_switch'?"));
  EXPECT_THAT(selection.error().message, HasSubstr("sched_switch"));
  selection = Selection::make({.events = {"zzzzzzzzzzz"}}, schema_);
  ASSERT_FALSE(selection);
  EXPECT_THAT(selection.error().message, HasSubstr("'ktracectl events' lists the built-in ones"));
}

TEST_F(SelectionTest, UnknownEventsOfATraceAreNotLookedForInTheDaemon) {
  const auto selection = Selection::make({.events = {"zzz:zzzzzzzz"}}, schema_, SchemaOf::trace);
  ASSERT_FALSE(selection);
  EXPECT_THAT(selection.error().message, HasSubstr("'ktracectl report summary DIR' lists"));
}

TEST_F(SelectionTest, UnknownProbesAreToBeAdded) {
  const auto selection = Selection::make({.events = {"kprobes:qqqq"}}, schema_);
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().message,
            "unknown event or group 'kprobes:qqqq'; a probe can be selected after 'ktracectl "
            "probe add'");
}

TEST_F(SelectionTest, SuggestsNamesOfCallsAndErrors) {
  const auto error = [&](const SelectionArgs& args) {
    const auto selection = Selection::make(args, schema_);
    EXPECT_FALSE(selection);
    return selection ? "" : selection.error().message;
  };
  EXPECT_EQ(error({.syscalls = {"opnat"}}), "unknown system call 'opnat'; did you mean 'openat'?");
  EXPECT_EQ(error({.errors = {"ENOENTT"}}), "unknown error 'ENOENTT'; did you mean 'ENOENT'?");
  EXPECT_THAT(error({.syscalls = {"read) || (1"}}), HasSubstr("unknown system call"));
  EXPECT_THAT(error({.where = std::vector<std::string>(63, "cpu")}),
              HasSubstr("more than 62 conditions"));
  const Bytes failed = make_record(EVENT_sys_exit, 10, 100, rec_sys_exit{.nr = 257, .ret = -2});
  EXPECT_TRUE(wants({.syscalls = {"257"}, .errors = {"2"}}, failed)) << "numbers are names too";
  EXPECT_TRUE(wants({.errors = {"EPERM", "any"}}, failed));
  const Bytes sigreturn =
      make_record(EVENT_sys_exit, 10, 4, rec_sys_exit{.nr = kSigreturnNumber, .ret = -2});
  for (const char* name : {"ENOENT", "2", "any"})
    EXPECT_FALSE(wants({.errors = {name}}, sigreturn)) << name << ": a register, not a result";
  EXPECT_FALSE(wants({.where = {"error == ENOENT"}}, sigreturn));
  EXPECT_TRUE(wants({.where = {"ret == -ENOENT"}}, sigreturn)) << "the value itself";
}

TEST_F(SelectionTest, SaysWhichEventsHaveAFieldThatSelectsNothing) {
  const Selection selection = select({.where = {"error == ENOENT", "tid == 4"}});
  EXPECT_EQ(selection.unmet_text(0),
            "--where 'error == ENOENT' ('error' is a field of signal_deliver, signal_generate, "
            "sys_completed, sys_exit) --where 'tid == 4'");
  EXPECT_EQ(select({.where = {"uid == 0"}}).unmet_text(0),
            "--where 'uid == 0' ('uid' is a field of mark_victim; for the user of a process use "
            "--uid)");
  EXPECT_EQ(select({.errors = {"ENOENT"}}).unmet_text(0), "--error ENOENT") << "nothing to mistake";
}

TEST_F(SelectionTest, SaysThatItsConditionsSelectNothingTogether) {
  const Selection selection = select({.comms = {"a"}, .cpus = {1}, .errors = {"ENOENT"}});
  SelectionUse use;
  EXPECT_EQ(selection.unmet_text(use), "--comm a --cpu 1 --error ENOENT") << "nothing was read";
  use.note(Selection::no_task_met());
  EXPECT_EQ(selection.unmet_text(use), "--comm a");
  use.note(~Selection::no_task_met());
  EXPECT_EQ(selection.unmet_text(use), "--comm a --cpu 1 --error ENOENT together");
  use.note(kAllMet);
  EXPECT_EQ(selection.unmet_text(use), "");
  const Selection of_tasks = select({.pids = {7}, .comms = {"a"}});
  EXPECT_EQ(of_tasks.unmet_text(SelectionUse{.read_any = true, .met = Selection::no_task_met()}),
            "--pid 7 --comm a together");
  EXPECT_EQ(select({.events = {"kfree"}}).unmet_text(SelectionUse()), "") << "no condition";
}

TEST_F(SelectionTest, SaysThatRecordsDoNotHaveTheContextThatSelectsNothing) {
  const SelectionArgs args{.where = {R"(cpu == 0 && !(context == "task"))"}};
  schema_.contexts = false;
  EXPECT_THAT(select(args).unmet_text(0), HasSubstr("the records do not have their 'context'"));
  schema_.contexts = true;
  EXPECT_THAT(select(args).unmet_text(0), Not(HasSubstr("do not have")));
}

TEST_F(SelectionTest, SuggestsTheFormOfErrors) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"enoent", "unknown error 'enoent'; did you mean 'ENOENT'?"},
      {"-ENOENT", "did you mean 'ENOENT'?"},
      {"-2", "unknown error '-2'; did you mean 'ENOENT'?"},
      {"ANY", "did you mean 'any'?"},
  };
  for (const auto& [typed, expected] : cases) {
    const auto selection = Selection::make({.errors = {typed}}, schema_);
    ASSERT_FALSE(selection) << typed;
    EXPECT_THAT(selection.error().message, HasSubstr(expected));
  }
  EXPECT_TRUE(Selection::make({.errors = {"2", "any"}}, schema_));
}

TEST_F(SelectionTest, NamesTheCommandThatListsFieldsOfATrace) {
  const auto of_trace = Selection::make({.where = {"xyzzy == 1"}}, schema_, SchemaOf::trace);
  ASSERT_FALSE(of_trace);
  EXPECT_THAT(of_trace.error().message,
              HasSubstr("unknown field 'xyzzy'; '.schema EVENT' of 'ktracectl query DIR' lists"));
  const auto of_daemon = Selection::make({.where = {"xyzzy == 1"}}, schema_);
  ASSERT_FALSE(of_daemon);
  EXPECT_THAT(of_daemon.error().message, HasSubstr("events list -v"));
}

TEST_F(SelectionTest, SelectsALossIfItsEventsMayBe) {
  const Selection selection = select({.pids = {1}, .cpus = {3}, .errors = {"any"}});
  EXPECT_TRUE(selection.wants_loss(3, EVENT_sys_exit));
  EXPECT_FALSE(selection.wants_loss(2, EVENT_sys_exit));
  EXPECT_FALSE(selection.wants_loss(3, EVENT_sys_enter));
}

}  // namespace
}  // namespace ktraced::test
