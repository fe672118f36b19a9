// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "unit/decoders/perfetto/perfetto_writer_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr int kOpenat = 257, kExitGroup = 231, kClone = 56;

class Perfetto : public PerfettoFixture {
 protected:
  // "openat 2000-3000 ret=3"
  static std::vector<std::string> calls(const ReadTrace& trace, std::string_view track) {
    std::vector<std::string> texts;
    for (const ReadMark& slice : trace.slices_on(track)) {
      std::string text = fmt::format("{} {}-{}", slice.name, slice.begin, slice.end);
      for (const char* key : {"ret", "error", "end"})
        if (auto value = slice.args.find(key); value != slice.args.end())
          text += fmt::format(" {}={}", key, value->second);
      texts.push_back(text);
    }
    return texts;
  }
};

TEST_F(Perfetto, DrawsCompletedCallsAsSlices) {
  const auto complete = [&](uint64_t ts, s64 duration, int nr, s64 ret) {
    add(EVENT_sys_completed, ts, 8,
        rec_sys_completed{.nr = nr, .args_known = 1, .ret = ret, .duration = duration});
  };
  complete(3000, 1000, kOpenat, 3);
  complete(4000, 500, kOpenat, -2);
  complete(5000, -1, kOpenat, 4);  // only its return is known
  EXPECT_THAT(calls(read(), "8/8"),
              ElementsAre("openat 2000-3000 ret=3", "openat 3500-4000 ret=-2 error=ENOENT"));
}

TEST_F(Perfetto, EndsSlicesAtAConfigChange) {
  changes_ = {3000};
  enter(2000, 8, kOpenat);
  leave(4000, 8, kOpenat, 3);
  enter(5000, 8, kOpenat);
  leave(6000, 8, kOpenat, 4);
  EXPECT_THAT(calls(read(), "8/8"),
              ElementsAre("openat 2000-3000 end=not known: what is traced was changed",
                          "openat 5000-6000 ret=4"));
}

TEST_F(Perfetto, HasItsClockAndKernel) {
  ReadTrace trace = read();
  EXPECT_THAT(trace.clocks, ElementsAre(Pair(1000, 1'700'000'000'000'001'000)));
  EXPECT_EQ(trace.release, "6.18.44");
}

TEST_F(Perfetto, WritesSwitchesAndWakeupsAsEventsOfTheirCpu) {
  add(EVENT_sched_switch, 2000, 8,
      rec_sched_switch{
          .prev_pid = 8, .prev_prio = 120, .prev_state = 1, .next_pid = 0, .next_prio = 120},
      1);
  add(EVENT_sched_waking, 2500, 9, rec_sched_waking{.pid = 8, .prio = 120, .target_cpu = 1});
  ReadTrace trace = read();
  ASSERT_EQ(trace.events.size(), 2U);
  const ReadEvent& waking = trace.events[0];  // bundles come in the order of CPUs
  EXPECT_EQ(std::tuple(waking.cpu, waking.ts, waking.tid), std::tuple(0U, 2500U, 9U));
  EXPECT_THAT(waking.args, UnorderedElementsAre(Pair("comm", "eight"), Pair("pid", "8"),
                                                Pair("prio", "120"), Pair("target_cpu", "1")));
  const ReadEvent& out = trace.events[1];
  EXPECT_EQ(std::tuple(out.cpu, out.ts, out.tid), std::tuple(1U, 2000U, 8U));
  EXPECT_THAT(out.args, UnorderedElementsAre(Pair("prev_comm", "eight"), Pair("prev_pid", "8"),
                                             Pair("prev_prio", "120"), Pair("prev_state", "1"),
                                             Pair("next_comm", "swapper/1"), Pair("next_pid", "0"),
                                             Pair("next_prio", "120")));
}

// A viewer then does not draw the interrupted thread as the waker.
TEST_F(Perfetto, WakeupsInInterruptsHaveTheFlagsOfTheKernel) {
  const auto wake = [&](uint64_t ts, record_context context) {
    const Bytes bytes =
        in_context(context, make_record(EVENT_sched_waking, ts, 9, rec_sched_waking{.pid = 8}));
    writer().on_record({.cpu = 0}, RecordView(bytes.data()));
  };
  wake(2000, CONTEXT_UNKNOWN);
  wake(2100, CONTEXT_TASK);
  wake(2200, CONTEXT_HARDIRQ);
  wake(2300, CONTEXT_SOFTIRQ);
  const ReadTrace trace = read();
  std::vector<uint32_t> flags;
  for (const ReadEvent& event : trace.events) flags.push_back(event.flags);
  EXPECT_THAT(flags, ElementsAre(0, 0, 0x08, 0x10));
}

TEST_F(Perfetto, InstantsHaveTheirContext) {
  add(EVENT_signal_deliver, 2000, 8, rec_signal_deliver{.sig = 14});
  const Bytes bytes = in_context(
      CONTEXT_TASK, make_record(EVENT_signal_deliver, 2100, 8, rec_signal_deliver{.sig = 14}));
  writer().on_record({.cpu = 0}, RecordView(bytes.data()));
  const auto signals = read().instants_named("signal_deliver");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_FALSE(signals[0].args.contains("context"));
  EXPECT_EQ(signals[1].args.at("context"), "task");
}

TEST_F(Perfetto, AFieldCalledContextIsNotTakenForTheContextOfTheRecord) {
  Event event = *schema_.find(EVENT_signal_deliver);
  event.fields[0].name = "context";
  schema_.add(event);
  const Bytes bytes = in_context(
      CONTEXT_TASK, make_record(EVENT_signal_deliver, 2000, 8, rec_signal_deliver{.sig = 14}));
  writer().on_record({.cpu = 0}, RecordView(bytes.data()));
  const auto signals = read().instants_named("signal_deliver");
  ASSERT_EQ(signals.size(), 1U);
  EXPECT_EQ(signals[0].args.at("context"), "task");
  EXPECT_EQ(signals[0].args.at("arg_context"), "14");
}

TEST_F(Perfetto, NamesThreadsAndProcesses) {
  name(8, 8, "later", 5000);
  add(EVENT_kfree, 2000, 9, rec_kfree{});
  EXPECT_EQ(read_perfetto(writer().out()).processes.size(), 1U);  // the leader's, though not seen
  add(EVENT_kfree, 2000, 8, rec_kfree{});
  EXPECT_EQ(read_perfetto(writer().out()).threads[8].name, "eight");
  add(EVENT_kfree, 6000, 8, rec_kfree{});
  ReadTrace trace = read();
  EXPECT_EQ(trace.threads[8].name, "later");
  EXPECT_EQ(trace.threads[9].pid, 7);
  EXPECT_THAT(trace.processes, UnorderedElementsAre(Pair(8, "later"), Pair(7, "seven")));
}

TEST_F(Perfetto, MakesANewTrackForAReusedThreadId) {
  name(8, 8, "again", 5000, 4000);
  enter(2000, 8, kOpenat);
  leave(3000, 8, kOpenat, 3);
  enter(6000, 8, kOpenat);
  leave(7000, 8, kOpenat, 3);
  ReadTrace trace = read();
  EXPECT_EQ(trace.slices.size(), 2U);
  const std::string bytes = writer().out();
  // Both are 8/8: two track descriptions make them different threads for a viewer.
  EXPECT_EQ(trace.slices[0].track, trace.slices[1].track);
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("openat 2000-3000 ret=3", "openat 6000-7000 ret=3"));
}

TEST_F(Perfetto, WritesCallsAsSlicesOfTheirThread) {
  enter(2000, 8, kOpenat);
  enter(2100, 9, kOpenat, 1);
  leave(2500, 9, kOpenat, 4, 1);
  leave(3000, 8, kOpenat, -2, 1);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("openat 2000-3000 ret=-2 error=ENOENT"));
  EXPECT_THAT(calls(trace, "7/9"), ElementsAre("openat 2100-2500 ret=4"));
  EXPECT_EQ(trace.slices[0].args["args"], "0x1,0x20,0x3,0x4,0x5,0x6");
}

// What it returns is the result of the interrupted call.
TEST_F(Perfetto, ShowsNoErrorOfSigreturn) {
  constexpr int kRtSigreturn = 15;
  enter(2000, 8, kRtSigreturn);
  leave(3000, 8, kSigreturnNumber, -2);
  leave(4000, 9, kSigreturnNumber, -2, 1);  // it began before the trace
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("rt_sigreturn 2000-3000 ret=-2"));
  auto returned = trace.instants_named("sigreturn returned");
  ASSERT_EQ(returned.size(), 1U);
  EXPECT_FALSE(returned[0].args.contains("error"));
}

TEST_F(Perfetto, ShowsTheErrorOfACallThatADebuggerSkips) {
  enter(2000, 8, kOpenat);
  leave(3000, 8, kOpenat, 3);
  leave(4000, 8, kSigreturnNumber, -2);
  leave(5000, 9, kSigreturnNumber, -2, 1);  // it may be a sigreturn
  ReadTrace trace = read();
  auto returned = trace.instants_named("syscall -1 returned");
  ASSERT_EQ(returned.size(), 1U);
  EXPECT_EQ(returned[0].args["error"], "ENOENT");
  EXPECT_EQ(trace.instants_named("sigreturn returned").size(), 1U);
}

TEST_F(Perfetto, ShowsNoErrorWithoutABeginningIfTheKernelSkippedSome) {
  manifest_.missed = {{"sys_enter", 1}};
  enter(2000, 8, kOpenat);
  leave(3000, 8, kOpenat, 3);
  leave(4000, 8, kSigreturnNumber, -2);
  EXPECT_EQ(read().instants_named("sigreturn returned").size(), 1U);
}

TEST_F(Perfetto, DoesNotInventCallsAtTheEdges) {
  leave(2000, 8, kClone, 0);  // in a new thread, or started before the trace
  enter(3000, 8, kOpenat);
  enter(4000, 9, kExitGroup);
  add(EVENT_sched_process_exit, 5000, 9, rec_sched_process_exit{.pid = 9, .exit_code = 3 << 8});
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("openat 3000-9000 end=after the end of the trace"));
  EXPECT_THAT(calls(trace, "7/9"), ElementsAre("exit_group 4000-5000 end=the thread ended"));
  auto returned = trace.instants_named("clone returned");
  ASSERT_EQ(returned.size(), 1U);
  EXPECT_EQ(returned[0].args["ret"], "0");
  EXPECT_THAT(trace.counts(), UnorderedElementsAre(Pair("sys_enter", 2), Pair("sys_exit", 1),
                                                   Pair("sched_process_exit", 1)));
}

TEST_F(Perfetto, GivesAThreadTheLeadersIdAfterExecve) {
  constexpr int kExecve = 59;
  enter(2000, 9, kExecve);
  add(EVENT_sched_process_exec, 3000, 7, rec_sched_process_exec{.pid = 7, .old_pid = 9});
  leave(4000, 7, kExecve, 0);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "7/9"), ElementsAre("execve 2000-3000 end=the thread ended"));
  EXPECT_EQ(trace.instants_named("execve returned").size(), 1U);
}

TEST_F(Perfetto, EndsCallsAtALossOfCalls) {
  enter(2000, 8, kOpenat);
  lose(3000, EVENT_sys_exit, 5);
  enter(3100, 9, kOpenat, 1);  // no event of CPU 0 since
  leave(3200, 9, kOpenat, 1, 1);
  leave(4000, 8, kOpenat, 3);
  enter(5000, 8, kOpenat);
  lose(6000, EVENT_kmalloc);
  leave(7000, 8, kOpenat, 3);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("openat 2000-3000 end=not known: events were lost",
                                               "openat 5000-7000 ret=3"));
  EXPECT_THAT(calls(trace, "7/9"), ElementsAre("openat 3100-3100 end=not known: events were lost"));
  EXPECT_EQ(trace.instants_named("openat returned").size(), 2U);
}

TEST_F(Perfetto, EndsACallWithoutExitWhereTheNextBegins) {
  enter(2000, 8, kOpenat);
  enter(3000, 8, kClone);
  leave(4000, 8, kOpenat, 1);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "8/8"),
              ElementsAre("openat 2000-3000 end=not known: it is not in the trace",
                          "clone 3000-4000 end=not known: it is not in the trace"));
  EXPECT_EQ(trace.instants_named("openat returned").size(), 1U);
}

TEST_F(Perfetto, WritesLossesAsSlicesAndCounts) {
  lose(3000, EVENT_kmalloc, 5, 1);
  lose(3000, EVENT_kfree, 2, 1);
  add(EVENT_kfree, 3500, 8, rec_kfree{}, 0);
  add(EVENT_kfree, 4000, 8, rec_kfree{}, 1);
  lose(5000, EVENT_kmalloc, 1, 1);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "Missing events/CPU 1"),
              ElementsAre("events lost 3000-4000", "events lost 5000-9000"));
  auto lost = trace.instants_named("kmalloc lost");
  ASSERT_EQ(lost.size(), 2U);
  EXPECT_EQ(lost[0].args["lost"], "5");
  EXPECT_EQ(lost[0].depth, 1U);
  EXPECT_THAT(trace.counters["Missing events/Events lost on CPU 1"],
              ElementsAre(Pair(3000, 5), Pair(3000, 7), Pair(5000, 8)));
  EXPECT_EQ(trace.stats_end[1].dropped, 8U);
  EXPECT_EQ(trace.stats_end[1].read, 1U);
  for (const ReadEvent& event : trace.events) EXPECT_EQ(event.first_after_loss, event.cpu == 1);
}

TEST_F(Perfetto, WritesAnOverwrittenBeginning) {
  manifest_.cpus[1].first_ns = 4000;
  manifest_.cpus[1].events["sys_exit"] = {.records = 1, .overwritten = 70};
  enter(2000, 8, kOpenat, 0);
  enter(4000, 9, kOpenat, 1);
  leave(4500, 8, kOpenat, 3, 0);
  leave(5000, 9, kOpenat, 3, 1);
  ReadTrace trace = read();
  EXPECT_THAT(calls(trace, "Missing events/CPU 1"), ElementsAre("overwritten 1000-4000"));
  EXPECT_THAT(calls(trace, "8/8"), ElementsAre("openat 2000-2000 end=not known: events were lost"));
  EXPECT_THAT(calls(trace, "7/9"), ElementsAre("openat 4000-5000 ret=3"));
  EXPECT_EQ(trace.stats_end[1].overrun, 70U);
}

TEST_F(Perfetto, WritesOtherEventsAsInstantsWithJsonArguments) {
  add(EVENT_signal_generate, 2000, 8,
      rec_signal_generate{.sig = 11, .code = 1, .pid = 9, .group = 1, .result = 0});
  add(EVENT_sched_process_exit, 3000, 9,
      rec_sched_process_exit{.pid = 9, .prio = 120, .exit_code = 11, .group_dead = 1});
  add(EVENT_signal_deliver, 4000, 0, rec_signal_deliver{.sig = 14}, 1);
  ReadTrace trace = read();
  auto sent = trace.instants_named("signal_generate");
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(std::tuple(sent[0].track, sent[0].category, sent[0].begin),
            std::tuple("8/8", "signal", 2000U));
  EXPECT_THAT(sent[0].args, UnorderedElementsAre(
                                Pair("sig", "11"), Pair("sig_name", "SIGSEGV"), Pair("error", "0"),
                                Pair("code", "1"), Pair("code_name", "SEGV_MAPERR"),
                                Pair("pid", "9"), Pair("comm", "nine"), Pair("group", "true"),
                                Pair("result", "0"), Pair("result_name", "delivered")));
  auto exits = trace.instants_named("sched_process_exit");
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].args["exit_signal"], "SIGSEGV");
  EXPECT_EQ(trace.instants_named("signal_deliver")[0].track, "swapper/1");
}

TEST_F(Perfetto, CountsMemoryFromTheFirstKnownTime) {
  constexpr uint64_t kMs = PerfettoMemory::kIntervalNs;
  Bytes cache = cache_name(kCache, "dentry");
  names_.apply(RecordView(cache.data()));
  add(EVENT_kmalloc, 1 * kMs, 8, rec_kmalloc{.ptr = 0x1000, .bytes_req = 60, .bytes_alloc = 64});
  add(EVENT_kmem_cache_alloc, 1 * kMs, 8,
      rec_kmem_cache_alloc{.ptr = 0x2000, .name = kCache, .bytes_req = 192, .bytes_alloc = 192});
  add(EVENT_kfree, 2 * kMs, 8, rec_kfree{.ptr = 0x1000});
  add(EVENT_kfree, 2 * kMs, 8, rec_kfree{.ptr = 0x7000});  // allocated before
  add(EVENT_kmalloc, 3 * kMs, 8, rec_kmalloc{.ptr = 0x1000, .bytes_req = 8, .bytes_alloc = 8});
  lose(4 * kMs, EVENT_kfree);
  add(EVENT_mm_page_alloc, 5 * kMs, 8, rec_mm_page_alloc{.page = 0x5000, .order = 1});
  ReadTrace trace = read();
  const std::string root = "Kernel memory allocated and not given back/";
  EXPECT_THAT(trace.counters[root + "kmalloc"],
              ElementsAre(Pair(1 * kMs, 64), Pair(2 * kMs, 0), Pair(3 * kMs, 8), Pair(4 * kMs, 0)));
  EXPECT_THAT(trace.counters[root + "cache dentry"],
              ElementsAre(Pair(1 * kMs, 192), Pair(4 * kMs, 0)));
  EXPECT_THAT(trace.counters[root + "pages"], ElementsAre(Pair(5 * kMs, 8192)));
  EXPECT_EQ(trace.counters[root + "slab"].back(), std::pair(4 * kMs, int64_t{0}));
}

TEST_F(Perfetto, WritesHeldMemoryUpToTheEnd) {
  add(EVENT_kmalloc, 1'000'000, 8, rec_kmalloc{.call_site = 1, .ptr = 0x100, .bytes_alloc = 8});
  add(EVENT_kmalloc, 1'500'000, 8, rec_kmalloc{.call_site = 1, .ptr = 0x200, .bytes_alloc = 4096});
  add(EVENT_kfree, 10'000'000'000, 8, rec_kfree{.call_site = 1, .ptr = 0x200});
  ReadTrace trace = read();
  EXPECT_THAT(trace.counters["Kernel memory allocated and not given back/kmalloc"],
              ElementsAre(Pair(1'000'000, 8), Pair(1'500'000, 4104), Pair(10'000'000'000, 8)));
}

// Each thread claims to belong to the process of the next.
TEST_F(Perfetto, SurvivesAChainOfProcessesInADamagedTrace) {
  constexpr uint32_t kLength = 200'000;
  for (uint32_t tid = 100; tid < 100 + kLength; ++tid) name(tid, tid + 1, "chain");
  add(EVENT_kfree, 2000, 100, rec_kfree{.call_site = 1, .ptr = 0x200});
  writer().finish();
  EXPECT_FALSE(writer().out().empty());
}

TEST_F(Perfetto, WritesNamesOfAnyBytesAsText) {
  name(8, 8, "a\xff\x1b[2J");
  add(EVENT_sched_waking, 2000, 8, rec_sched_waking{.pid = 8});
  ReadTrace trace = read();
  EXPECT_EQ(trace.threads[8].name, "a\\xff\\x1b[2J");
  EXPECT_EQ(trace.events[0].args["comm"], "a\\xff\\x1b[2J");
}

TEST_F(Perfetto, SurvivesShortAndUnknownRecords) {
  for (uint16_t id = 0; id < 300; ++id) {
    const Bytes bytes = bare_record(2000 + id, id, 8);
    writer().on_record({.cpu = 0}, RecordView(bytes.data()));
  }
  read();
}

TEST_F(Perfetto, EventsHaveTheirCallstacks) {
  constexpr uint64_t kKernel = 0x8000000000000001, kUser = 0x8000000000000002;
  constexpr uint64_t kFile = 0x8000000000000011;
  const auto learn = [this](const Bytes& record) { stacks_.add(RecordView(record.data())); };
  learn(stack_record_of(1, {.number = kKernel, .frames = {kCallSite}}));
  learn(stack_record_of(1, {.number = kUser, .kind = STACK_USER, .frames = {0x1010, 0x1021}}));
  learn(mapping_record_of(
      1, {.tgid = 7, .process_start = 1, .start = 0x1000, .end = 0x2000, .file = kFile}));
  stacks_.add(MappedFile{.number = kFile, .path = "/nowhere/app", .build_id = "00ff10"});
  const auto stacked = [this](const Bytes& record) {
    const Bytes bytes = with_stacks(record, {.kernel = kKernel, .user = kUser});
    writer().on_record({.cpu = 0}, RecordView(bytes.data()));
  };
  stacked(make_record(EVENT_kmalloc, 2000, 9, rec_kmalloc{.bytes_req = 8, .bytes_alloc = 8}));
  stacked(make_record(EVENT_sys_enter, 3000, 9, rec_sys_enter{.nr = 0}));
  leave(3500, 9, 0, 0);
  add(EVENT_kmalloc, 4000, 9, rec_kmalloc{.bytes_req = 8, .bytes_alloc = 8});
  const ReadTrace trace = read();
  const std::string stack =
      "[ended early: no frame pointer] (/[unknown]); app+0x21 (/nowhere/app); app+0x10 "
      "(/nowhere/app); load_elf_binary (/[unknown])";
  const auto marks = trace.instants_named("kmalloc");
  ASSERT_EQ(marks.size(), 1U) << "only an event with stacks has an instant beside it";
  EXPECT_EQ(marks[0].begin, 2000U);
  EXPECT_EQ(marks[0].track, "7/9");
  EXPECT_EQ(marks[0].stack, stack);
  ASSERT_EQ(trace.slices.size(), 1U);
  EXPECT_EQ(trace.slices[0].stack, stack);
  EXPECT_EQ(trace.build_ids.at("/nowhere/app"), std::string("\x00\xff\x10", 3));
  EXPECT_EQ(trace.offsets.at("app+0x21"), 0x20U) << "the call before a return address";
  EXPECT_EQ(trace.offsets.at("app+0x10"), 0x10U);
}

}  // namespace
}  // namespace ktraced::test
