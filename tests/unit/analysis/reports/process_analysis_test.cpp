// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/process_analysis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kMake = 4000, kChild = 5000, kThread = 5001;
constexpr int32_t kSigterm = 15, kSigsegv = 11;

class ProcessAnalysisTest : public DecoderTest {
 protected:
  ProcessAnalysisTest() {
    learn(task_name(kChild, 100, kChild, "sh", 100));
    learn(task_name(kThread, 110, kChild, "sh", 110));
    analysis_.add_source(schema_, names_);
  }
  void take(const Bytes& record, uint32_t cpu = 0) {
    analysis_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void fork(uint64_t ts, uint32_t parent, uint32_t child, uint32_t tgid) {
    take(make_record(EVENT_sched_process_fork, ts, parent,
                     rec_sched_process_fork{.parent_pid = static_cast<s32>(parent),
                                            .child_pid = static_cast<s32>(child),
                                            .child_tgid = static_cast<s32>(tgid)}));
  }
  void exit(uint64_t ts, uint32_t tid, int32_t code, bool last) {
    take(make_record(EVENT_sched_process_exit, ts, tid,
                     rec_sched_process_exit{
                         .pid = static_cast<s32>(tid), .exit_code = code, .group_dead = last}));
  }
  void signal(uint64_t ts, uint32_t from, uint32_t to, int32_t sig, int32_t code = 0,
              int32_t result = 0) {
    take(make_record(
        EVENT_signal_generate, ts, from,
        rec_signal_generate{
            .sig = sig, .code = code, .pid = static_cast<s32>(to), .group = 1, .result = result}));
  }
  void change(uint64_t ts, uint32_t from, uint32_t to, uint32_t cpu = 0) {
    take(make_record(EVENT_sched_switch, ts, from,
                     rec_sched_switch{.prev_pid = static_cast<s32>(from),
                                      .prev_state = 1,
                                      .next_pid = static_cast<s32>(to)}),
         cpu);
  }
  void change_config(uint64_t ts, const char* config) {
    analysis_.on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  }
  const ProcessRow& process(uint32_t pid) {
    for (const ProcessRow& row : analysis_.rows())
      if (row.pid == pid) return row;
    ADD_FAILURE() << "no process " << pid;
    static const ProcessRow kNone;
    return kNone;
  }

  ProcessAnalysis analysis_;
};

TEST_F(ProcessAnalysisTest, FollowsAProcessFromForkToExit) {
  fork(100, kMake, kChild, kChild);
  fork(110, kChild, kThread, kChild);
  Bytes exec = exec_record("/bin/sh");
  auto* header = reinterpret_cast<rec_sched_process_exec*>(exec.data());
  header->h.ts = 120;
  header->h.tid = kChild;
  header->pid = kChild;
  take(exec);
  exit(150, kThread, 0, false);
  exit(200, kChild, 3 << 8, true);
  analysis_.finish(300);
  const ProcessRow& row = process(kChild);
  EXPECT_TRUE(row.forked);
  EXPECT_EQ(row.start_ns, 100U);
  EXPECT_EQ(row.comm, "sh");
  EXPECT_EQ(row.parent->pid, kMake);
  EXPECT_EQ(row.parent->comm, "make");
  EXPECT_EQ(row.threads, 2U);
  EXPECT_EQ(row.program, "/bin/sh");
  EXPECT_EQ(row.execs, 1U);
  EXPECT_EQ(row.argv, "make -j4");
  EXPECT_EQ(row.end_ns, 200U);
  EXPECT_EQ(row.exit_code, 3 << 8);
  EXPECT_FALSE(row.killer);
  EXPECT_FALSE(process(kMake).parent) << "it was forked before the trace";
}

TEST_F(ProcessAnalysisTest, KnowsTheParentOfAProcessThatIsOlderThanTheTrace) {
  constexpr uint32_t kShell = 30, kOld = 31, kReused = 32, kOrphan = 33;
  learn(task_of_parent(kShell, 50, "bash", 1, 20));
  learn(task_of_parent(kOld, 50, "vi", kShell, 30));
  learn(task_of_parent(kReused, 500'000'000, "late", kShell, 500'000'000));
  learn(task_of_parent(kOrphan, 50, "nohup", kReused, 40));
  change(100, kOld, kOrphan);
  change(110, kOrphan, kShell);  // the parent has its row later
  change(500'000'100, kShell, kReused);
  analysis_.finish(500'000'200);
  ASSERT_TRUE(process(kOld).parent);
  EXPECT_EQ(process(kOld).parent->pid, kShell);
  EXPECT_EQ(process(kOld).parent->comm, "bash");
  ASSERT_TRUE(process(kOld).parent->row);
  EXPECT_EQ(&analysis_.rows()[*process(kOld).parent->row], &process(kShell));
  EXPECT_FALSE(process(kOld).forked);
  ASSERT_TRUE(process(kShell).parent);
  EXPECT_EQ(process(kShell).parent->pid, 1U);
  EXPECT_EQ(process(kShell).parent->comm, "") << "nothing is known of it";
  EXPECT_FALSE(process(kShell).parent->row);
  ASSERT_TRUE(process(kOrphan).parent);
  EXPECT_EQ(process(kOrphan).parent->pid, kReused);
  EXPECT_EQ(process(kOrphan).parent->comm, "") << "a younger process has reused the id";
  EXPECT_FALSE(process(kOrphan).parent->row);
}

// There are more threads than the daemon keeps the names of.
TEST_F(ProcessAnalysisTest, KnowsProgramAndParentOfAProcessWithoutAName) {
  constexpr uint32_t kShell = 100, kService = 101, kOther = 102;
  learn(task_name(kShell, 50, kShell, "bash", 20));
  learn(command_line(kService, 300, "service -d", 0, kShell));
  change(100, kService, kOther);
  analysis_.finish(300);
  EXPECT_EQ(process(kService).argv, "service -d");
  EXPECT_EQ(process(kService).argv_read_ns, 300U);
  ASSERT_TRUE(process(kService).parent);
  EXPECT_EQ(process(kService).parent->pid, kShell);
  EXPECT_EQ(process(kService).parent->comm, "bash");
  EXPECT_FALSE(process(kOther).argv);
  EXPECT_FALSE(process(kOther).parent);
}

// The daemon read a later process with that id.
TEST_F(ProcessAnalysisTest, TakesNoProgramAndParentOfAProcessThatBeganLater) {
  constexpr uint32_t kShell = 100, kService = 101, kOther = 102;
  learn(command_line(kService, 30'000'000, "late", 20'000'000, kShell));
  change(100, kService, kOther);
  analysis_.finish(40'000'000);
  EXPECT_FALSE(process(kService).argv);
  EXPECT_EQ(process(kService).argv_read_ns, 0U);
  EXPECT_FALSE(process(kService).parent);
}

// Of a schema that has these fields.
TEST_F(ProcessAnalysisTest, TakesArgumentsAndParentFromExecIfTheyAreThere) {
  struct Exec {
    record h;
    u32 pid, parent_pid, argv, unused;
    char text[16];
  };
  const auto field = [](const char* name, uint32_t offset) {
    return Field{.name = name, .type = "u32", .offset = offset, .size = 4};
  };
  Field argv{.name = "argv", .type = "char[]", .meaning = Meaning::text, .offset = 24, .size = 1};
  argv.count = 0;
  argv.located = true;
  Schema schema;
  schema.add({.id = EVENT_sched_process_exec,
              .name = "sched_process_exec",
              .group = "process",
              .fields = {field("pid", 16), field("parent_pid", 20), argv},
              .size = 32});
  analysis_.add_source(schema, names_);
  constexpr u32 kLocation = 32 | LOCATED_CUT | 8U << LOCATED_COUNT_SHIFT;
  const Bytes exec =
      make_record(EVENT_sched_process_exec, 120, kChild,
                  Exec{.pid = kChild, .parent_pid = kMake, .argv = kLocation, .text = "make -j8"});
  analysis_.on_record({.source = 1, .cpu = 0}, RecordView(exec.data()));
  EXPECT_EQ(process(kChild).argv, "make -j8...");
  ASSERT_TRUE(process(kChild).parent);
  EXPECT_EQ(process(kChild).parent->pid, kMake);
  EXPECT_EQ(process(kChild).parent->comm, "make");
  EXPECT_FALSE(process(kChild).forked);
}

TEST_F(ProcessAnalysisTest, TheStatusIsThatOfTheLastThread) {
  fork(100, kMake, kChild, kChild);
  fork(110, kChild, kThread, kChild);
  exit(150, kChild, 5 << 8, false);  // only its main thread
  EXPECT_FALSE(process(kChild).end_ns);
  EXPECT_FALSE(process(kChild).exit_code);
  exit(160, kThread, 7 << 8, true);
  EXPECT_EQ(process(kChild).exit_code, 7 << 8);
  EXPECT_EQ(process(kChild).end_ns, 160U);
  exit(161, kChild, 5 << 8, false);  // recorded late
  EXPECT_EQ(process(kChild).exit_code, 7 << 8);
}

TEST_F(ProcessAnalysisTest, TheStatusIsThatOfTheSignalThatEndsTheLastThread) {
  fork(100, kMake, kChild, kChild);
  fork(110, kChild, kThread, kChild);
  exit(150, kChild, 5 << 8, false);
  signal(155, 812, kChild, kSigterm);
  exit(160, kThread, kSigterm, true);
  EXPECT_EQ(process(kChild).exit_code, kSigterm);
  ASSERT_TRUE(process(kChild).killer);
  EXPECT_EQ(process(kChild).killer->tid, 812U);
}

TEST_F(ProcessAnalysisTest, NamesWhoSentTheSignalThatEndedIt) {
  signal(100, 3352, kChild, kSigterm, 0, 1);  // ignored
  signal(110, 812, kChild, kSigterm);
  signal(115, 3352, kChild, kSigterm, 0, 2);  // pending already
  signal(120, 3352, kChild, 10);
  exit(150, kChild, kSigterm, true);
  const ProcessRow& row = process(kChild);
  ASSERT_TRUE(row.killer);
  EXPECT_EQ(row.killer->ts, 110U);
  EXPECT_EQ(row.killer->tid, 812U);
  EXPECT_EQ(row.killer->from.comm, "nginx");
  EXPECT_FALSE(row.killer->by_kernel);
}

TEST_F(ProcessAnalysisTest, KnowsSignalsOfTheKernelAndVictimsOfTheOomKiller) {
  constexpr int32_t kMapError = 1;
  signal(110, kChild, kChild, kSigsegv, kMapError);
  take(make_record(EVENT_mark_victim, 120, 3352, rec_mark_victim{.pid = kMake}));
  exit(150, kChild, kSigsegv | 0x80, true);
  EXPECT_TRUE(process(kChild).killer->by_kernel);
  EXPECT_TRUE(process(kMake).oom_victim);
}

TEST_F(ProcessAnalysisTest, ATimerIsTheKernelsWhateverRanWhenItExpired) {
  constexpr int32_t kOfTimer = -2;
  signal(110, 812, kChild, kSigterm, kOfTimer);
  exit(150, kChild, kSigterm, true);
  ASSERT_TRUE(process(kChild).killer);
  EXPECT_TRUE(process(kChild).killer->by_kernel);
}

TEST_F(ProcessAnalysisTest, TheSenderIsUnknownWithoutItsEvent) {
  exit(150, kChild, kSigterm, true);
  EXPECT_EQ(process(kChild).exit_code, kSigterm);
  EXPECT_FALSE(process(kChild).killer);
}

TEST_F(ProcessAnalysisTest, SumsUpTheRunsOfItsThreads) {
  change(100, 0, kChild);
  change(130, kChild, kThread);
  change(135, kThread, 0);
  change(140, 0, kChild, 1);
  analysis_.finish(150);
  EXPECT_EQ(process(kChild).cpu_ns, 45U);
  EXPECT_TRUE(process(kChild).measured);
  EXPECT_EQ(process(kChild).uncertain, 0U);
}

TEST_F(ProcessAnalysisTest, DoesNotCountRunsAcrossALoss) {
  change(100, 0, kChild);
  analysis_.on_loss({.ts = 110, .cpu = 0, .event_id = EVENT_sched_switch, .count = 4});
  change(130, kChild, 0);
  analysis_.finish(150);
  EXPECT_EQ(process(kChild).cpu_ns, 0U);
  EXPECT_EQ(process(kChild).uncertain, 1U);
  EXPECT_EQ(analysis_.lost(), 4U);
}

TEST_F(ProcessAnalysisTest, ProcessesThatDoNotEndRunAtTheEnd) {
  change(100, 0, kChild);
  analysis_.finish(150);
  EXPECT_FALSE(process(kChild).end_ns);
  EXPECT_EQ(process(kChild).end_unknown, Unknown::none);
}

TEST_F(ProcessAnalysisTest, AnEndIsUnknownAfterALossOfEnds) {
  change(100, 0, kChild);
  analysis_.on_loss({.ts = 110, .cpu = 0, .event_id = EVENT_sched_process_exit, .count = 1});
  change(130, 0, kMake);
  change(140, kMake, 3352);
  analysis_.finish(150);
  EXPECT_EQ(process(kChild).end_unknown, Unknown::lost);
  EXPECT_EQ(process(kMake).end_unknown, Unknown::none) << "it was seen after the loss";
}

TEST_F(ProcessAnalysisTest, AnEndIsUnknownWhenItsEventWasNotTraced) {
  change_config(0, R"({"events": {"sched_switch": true}, "filter": {}})");
  change(100, 0, kChild);
  analysis_.finish(150);
  EXPECT_EQ(process(kChild).end_unknown, Unknown::unseen);
}

TEST_F(ProcessAnalysisTest, AnEndIsUnknownForAProcessThatTheFilterRejects) {
  change_config(0, R"({"filter": {"pid": [4000]}})");
  change(100, kChild, kMake);
  analysis_.finish(150);
  EXPECT_EQ(process(kChild).end_unknown, Unknown::filter);
  EXPECT_FALSE(process(kChild).measured);
  EXPECT_EQ(process(kMake).end_unknown, Unknown::none);
  EXPECT_TRUE(process(kMake).measured);
}

TEST_F(ProcessAnalysisTest, DistinguishesProcessesWithTheSameId) {
  fork(100, kMake, kChild, kChild);
  exit(150, kChild, 0, true);
  learn(task_name(kChild, 200, kChild, "cc", 200));
  fork(200, kMake, kChild, kChild);
  analysis_.finish(300);
  std::vector<std::pair<std::string, uint64_t>> found;
  for (const ProcessRow& row : analysis_.rows())
    if (row.pid == kChild) found.emplace_back(row.comm, row.start_ns);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, uint64_t>>{{"sh", 100}, {"cc", 200}}));
}

TEST_F(ProcessAnalysisTest, AThreadThatHasEndedBelongsToItsProcess) {
  exit(150, kChild, 0, true);
  learn(task_name(kChild, 155, 0, ""));  // it has no name any more
  change(160, kChild, 0);
  analysis_.finish(200);
  EXPECT_EQ(analysis_.rows().size(), 1U);
  EXPECT_EQ(process(kChild).end_ns, 150U);
}

TEST_F(ProcessAnalysisTest, ListsThreadsWhoseProcessIsUnknown) {
  take(make_record(EVENT_kfree, 100, 77, rec_kfree{}));
  EXPECT_FALSE(process(77).known);
}

}  // namespace
}  // namespace ktraced::test
