// SPDX-License-Identifier: BSD-2-Clause
#include "unit/ctl/reports/report_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/time_point.h"
#include "ctl/selection/wall_clocks.h"

namespace ktraced::test {
namespace {

class Report : public ReportTest {};

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Report, KmemReportsAllocationsAndHeldMemory) {
  const json actual = kmem(write(spec()));
  EXPECT_TRUE(result_);
  const json& use = actual["types"]["kmalloc"];
  EXPECT_EQ(use["count"], 2);
  EXPECT_EQ(use["requested"], 600);
  EXPECT_EQ(use["given"], 1024);
  EXPECT_EQ(use["waste"], 424);
  EXPECT_EQ(use["freed"], 1);
  EXPECT_EQ(use["freed_elsewhere"], 1);
  EXPECT_EQ(use["held"], 1);
  EXPECT_EQ(use["uncertain"], 0);
  EXPECT_EQ(use["oldest_ns"], 2 * kSecond - 100);
  EXPECT_EQ(use["frees"], json::parse(R"({"seen":2,"unknown":1,"nothing":0})"));
  ASSERT_EQ(actual["call_sites"]["rows"].size(), 1U);
  EXPECT_EQ(actual["call_sites"]["rows"][0]["symbol"], "put_pid+0x1/0x2");
  EXPECT_EQ(actual["call_sites"]["rows"][0]["count"], 2);
  EXPECT_EQ(actual["tasks"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(actual["caches"]["of"], 0) << "the event does not say which kmalloc cache it is";
  EXPECT_EQ(actual["sizes"]["rows"][0]["size"], 512);
  const json& both = actual["task_sites"]["rows"][0];
  EXPECT_EQ(both["comm"], "eight");
  EXPECT_EQ(both["symbol"], "put_pid+0x1/0x2");
  EXPECT_EQ(both["count"], 2);
  EXPECT_EQ(actual["gfp_flags"]["rows"][0]["gfp_flags_names"], "none");
  EXPECT_EQ(actual["nodes"]["rows"][0]["node"], 0) << "the node requested";
  EXPECT_EQ(actual["held"]["call_sites"]["rows"][0]["held_bytes"], 512);
  EXPECT_EQ(actual["caveats"], json::array());
  EXPECT_EQ(actual["window"]["seconds"], 2.0);
}

TEST_F(Report, KmemIsReadableText) {
  const std::string out = text(ReportCommand::Kind::kmem, write(spec()));
  EXPECT_THAT(out, HasSubstr("recording of test-host, complete"));
  EXPECT_THAT(out, HasSubstr("put_pid+0x1/0x2"));
  EXPECT_THAT(out, HasSubstr("41.4 %"));  // wasted
  EXPECT_THAT(out, HasSubstr("NOT GIVEN BACK, BY CALL SITE"));
  EXPECT_THAT(out, HasSubstr("  < 10 s  1  ########"));
  EXPECT_THAT(out, Not(HasSubstr("may have been")));
  EXPECT_THAT(out, Not(HasSubstr("\x1b")));
}

TEST_F(Report, KmemSortsByTheGivenColumn) {
  TraceSpec many = spec();
  many.packets = {
      {.cpu = 0,
       .records = {kmalloc_at(kSecond, 0x1000, kSite), kfree_at(kSecond + 1, 0x1000),
                   kmalloc_at(kSecond + 2, 0x1000, kSite), kfree_at(kSecond + 3, 0x1000),
                   kmalloc_at(kSecond + 4, 0x2000, kSite + 1)}}};
  const std::string path = write(many);
  auto sites = [&](const char* by, uint64_t top) {
    ReportCommand report = command(ReportCommand::Kind::kmem, {path});
    report.by = by;
    report.top = top;
    run(report, true);
    std::vector<std::string> found;
    const json actual = json::parse(out_);
    for (const json& row : actual["call_sites"]["rows"]) found.push_back(row["call_site"]);
    return found;
  };
  EXPECT_THAT(sites("", 10), ElementsAre("0xffffffff81000001", "0xffffffff81000002"));
  EXPECT_THAT(sites("count", 1), ElementsAre("0xffffffff81000001"));
  EXPECT_THAT(sites("held", 10), ElementsAre("0xffffffff81000002"));
}

Bytes enter_at(uint64_t ts, int32_t nr) {
  return make_record(EVENT_sys_enter, ts, 8, rec_sys_enter{.nr = nr, .args = {3}});
}
Bytes exit_at(uint64_t ts, int32_t nr, int64_t ret) {
  return make_record(EVENT_sys_exit, ts, 8, rec_sys_exit{.nr = nr, .ret = ret});
}

TEST_F(Report, SyscallsReportsTimesErrorsAndTheSlowest) {
  TraceSpec calls = spec();
  calls.packets = {{.cpu = 0,
                    .records = {enter_at(kSecond, 0), exit_at(kSecond + 5000, 0, 17),
                                enter_at(kSecond + 6000, 2), exit_at(kSecond + 7000, 2, -2)}}};
  const std::string path = write(calls);
  const json actual = report(ReportCommand::Kind::syscalls, {path});
  ASSERT_EQ(actual["calls"]["rows"].size(), 2U);
  EXPECT_EQ(actual["calls"]["rows"][0]["syscall"], "read");
  EXPECT_EQ(actual["calls"]["rows"][0]["time"]["max_ns"], 5000);
  EXPECT_EQ(actual["calls"]["rows"][0]["histogram"][0],
            json::parse(R"({"from_ns":4096,"count":1})"));
  EXPECT_EQ(actual["calls"]["rows"][1]["errors"], json::parse(R"({"ENOENT":1})"));
  EXPECT_EQ(actual["processes"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(actual["slowest"][0]["args"][0], "0x3");
  EXPECT_EQ(actual["slowest"][1]["error"], "ENOENT");
  const std::string out = text(ReportCommand::Kind::syscalls, path);
  EXPECT_THAT(out, HasSubstr("read(0x3, 0x0, 0x0, 0x0, 0x0, 0x0) = 17\n"));
  EXPECT_THAT(out, HasSubstr("ENOENT 1\n"));
  EXPECT_THAT(out, HasSubstr("HOW LONG read TOOK, FROM\n  4.096 us  1  ####"));
}

// The last return may be that of a rt_sigreturn.
TEST_F(Report, SyscallsHasNoErrorWithoutABeginningIfTheKernelSkippedSome) {
  constexpr int32_t kRead = 0, kSkipped = -1;
  TraceSpec calls = spec();
  calls.packets = {{.cpu = 0,
                    .records = {enter_at(kSecond, kRead), exit_at(kSecond + 10, kRead, 17),
                                exit_at(kSecond + 20, kSkipped, -2)}}};
  const auto errors = [&](const std::string& path) {
    const json rows = report(ReportCommand::Kind::syscalls, {path})["calls"]["rows"];
    size_t count = 0;
    for (const json& row : rows) count += row.value("errors", json::object()).size();
    return count;
  };
  EXPECT_EQ(errors(write(calls, {}, "all")), 1U);
  EXPECT_EQ(
      errors(write(calls, [](Manifest& m) { m.missed = {{"sys_enter", 1}}; }, "skipped")), 0U);
}

TEST_F(Report, SyscallsDrawsTheFirstThree) {
  TraceSpec calls = spec();
  calls.packets = {{.cpu = 0, .records = {}}};
  for (int32_t nr = 0; nr < 6; ++nr) {
    calls.packets[0].records.push_back(enter_at(kSecond + static_cast<uint64_t>(nr) * 10, nr));
    calls.packets[0].records.push_back(
        exit_at(kSecond + static_cast<uint64_t>(nr) * 10 + 5, nr, 0));
  }
  const std::string out = text(ReportCommand::Kind::syscalls, write(calls));
  size_t drawn = 0;
  for (size_t at = out.find("HOW LONG"); at != std::string::npos; at = out.find("HOW LONG", at + 1))
    ++drawn;
  EXPECT_EQ(drawn, 3U);
  EXPECT_THAT(out, Not(HasSubstr(" \n"))) << "no space at the end of a line";
}

// The first seconds of a CPU were overwritten: they may contain the end of one call and the
// beginning of the next.
TEST_F(Report, SyscallsDoesNotMeasureAcrossOverwrittenRecords) {
  TraceSpec calls = spec();
  calls.packets = {
      {.cpu = 0, .records = {enter_at(kSecond, 0), exit_at(kSecond + 100, 0, 1)}},
      {.cpu = 1, .records = {enter_at(kSecond + 200, 0), exit_at(kSecond + 300, 0, 1)}}};
  ReportCommand all =
      command(ReportCommand::Kind::syscalls,
              {write(calls, [](Manifest& m) { m.cpus.at(1).events["sys_exit"].overwritten = 1; })});
  all.times.since = TimePoint{.kind = TimePoint::Kind::boot, .ns = 0, .text = {}};
  run(all, true);
  const json actual = json::parse(out_);
  EXPECT_EQ(actual["calls"]["rows"][0]["calls"], 2);
  EXPECT_EQ(actual["calls"]["rows"][0]["time"]["count"], 1);
  EXPECT_EQ(actual["uncertain"], 1);
  EXPECT_EQ(actual["lost"], 0);
}

Bytes switch_at(uint64_t ts, int32_t from, int32_t to) {
  return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                     rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
}

TEST_F(Report, SchedReportsRunningAndWaitingThreads) {
  TraceSpec switches = spec();
  switches.packets = {
      {.cpu = 0,
       .records = {switch_at(kSecond, 0, 8),
                   make_record(EVENT_sched_wakeup, kSecond + 1000, 8, rec_sched_wakeup{.pid = 9}),
                   switch_at(kSecond + 5000, 8, 9), switch_at(kSecond + 6000, 9, 0)}}};
  const std::string path = write(switches);
  const json actual = report(ReportCommand::Kind::sched, {path});
  ASSERT_EQ(actual["threads"]["rows"].size(), 2U);
  EXPECT_EQ(actual["threads"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(actual["threads"]["rows"][0]["on_cpu_ns"], 5000);
  EXPECT_EQ(actual["threads"]["rows"][1]["delay"]["max_ns"], 4000);
  EXPECT_EQ(actual["longest"][0]["instead"], json::parse(R"({"tid":8,"comm":"eight","ns":4000})"));
  EXPECT_EQ(actual["cpus"][0]["busy_ns"], 6000);
  EXPECT_EQ(actual["cpus"][0]["idle_ns"], 2 * kSecond - 6000) << "up to the end of the window";
  const std::string out = text(ReportCommand::Kind::sched, path);
  EXPECT_THAT(out, HasSubstr("nine  eight 8 for 4 us\n"));
  EXPECT_THAT(out, HasSubstr("FROM BEING WOKEN TO RUNNING, FROM\n"));
  EXPECT_THAT(out,
              HasSubstr("  50 % up to 4 us, 90 % up to 4 us, 99 % up to 4 us, all up to 4 us\n"));
}

// Thread 8 was never woken; thread 9 ran immediately. No delay differs from a delay of 0.
TEST_F(Report, SchedPutsThreadsWithoutAValueLast) {
  TraceSpec switches = spec();
  switches.packets = {
      {.cpu = 0,
       .records = {switch_at(kSecond, 0, 8), switch_at(kSecond + 1000, 8, 0),
                   switch_at(kSecond + 2000, 0, 8),
                   make_record(EVENT_sched_wakeup, kSecond + 3000, 8, rec_sched_wakeup{.pid = 9}),
                   switch_at(kSecond + 3000, 8, 9), switch_at(kSecond + 4000, 9, 0)}}};
  ReportCommand by_delay = command(ReportCommand::Kind::sched, {write(switches)});
  by_delay.by = "delay";
  run(by_delay, true);
  const json rows = json::parse(out_)["threads"]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["tid"], 9);
  EXPECT_EQ(rows[0]["delay"]["max_ns"], 0);
  EXPECT_EQ(rows[1]["tid"], 8);
  EXPECT_EQ(rows[1]["delay"]["count"], 0);
}

// Calls that end their thread have no time; `openat` has one, of 0 ns.
TEST_F(Report, SyscallsPutsCallsWithoutAValueLast) {
  TraceSpec calls = spec();
  calls.packets = {
      {.cpu = 0,
       .records = {enter_at(kSecond, 257), exit_at(kSecond, 257, 3), enter_at(kSecond + 10, 60),
                   make_record(EVENT_sys_enter, kSecond + 20, 9, rec_sys_enter{.nr = 60})}}};
  const json rows = report(ReportCommand::Kind::syscalls, {write(calls)})["calls"]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["syscall"], "openat");
  EXPECT_EQ(rows[1]["syscall"], "exit");
  EXPECT_EQ(rows[1]["calls"], 2);
  EXPECT_EQ(rows[1]["time"]["count"], 0);
}

// The daemon has run for a long time; the rings hold the last two seconds, and of CPU 1 the last.
TEST_F(Report, CoversTheTimeThatAllRingsHold) {
  TraceSpec late = spec(1000 * kSecond);
  late.begin_ns = kSecond;
  const json actual = kmem(write(late, [](Manifest& m) {
    for (CpuAccount& cpu : m.cpus) cpu.events["kfree"].overwritten = 1;
    const json paused = {{"state", "paused"}}, running = {{"state", "running"}};
    m.config["changes"] = {{{"ns", 2 * kSecond}, {"config", paused}},
                           {{"ns", 3 * kSecond}, {"config", running}}};
  }));
  EXPECT_EQ(actual["window"]["begin_ns"], 1001 * kSecond);
  EXPECT_EQ(actual["window"]["seconds"], 1.0);
  EXPECT_EQ(actual["window"]["furthest_ns"], 1000 * kSecond);
  EXPECT_EQ(actual["caveats"], json::array());
}

TEST_F(Report, HasTheWallClockOfEachTrace) {
  TraceSpec later = spec(10 * kSecond);
  later.origin.clock_offset_ns += 3600 * static_cast<int64_t>(kSecond);  // it was set
  const std::vector<std::string> traces = {write(spec()), write(later, {}, "b")};
  const json window = report(ReportCommand::Kind::summary, traces)["window"];
  EXPECT_EQ(window["clock_offset_ns"], later.origin.clock_offset_ns);
  ASSERT_EQ(window["clocks"].size(), 2U);
  EXPECT_EQ(window["clocks"][0]["clock_offset_ns"], test_origin().clock_offset_ns);
  run(command(ReportCommand::Kind::summary, traces), false);
  EXPECT_THAT(out_, HasSubstr(iso_time_text(realtime_of(kSecond, test_origin().clock_offset_ns))));
  const uint64_t end = window["end_ns"];
  EXPECT_THAT(out_, HasSubstr(time_of_day_text(realtime_of(end, later.origin.clock_offset_ns))));
  EXPECT_FALSE(report(ReportCommand::Kind::summary, {traces[0]})["window"].contains("clocks"));
}

TEST_F(Report, ShowsAThreadOfAnUnknownProcessAsAThread) {
  TraceSpec unknown = spec();
  unknown.names = {};
  const std::string path = write(unknown);
  const json row = report(ReportCommand::Kind::summary, {path})["processes"]["rows"][0];
  EXPECT_EQ(row,
            json::parse(R"({"pid":null,"tid":8,"comm":null,"events":2,"first_ns":1000000000})"));
  EXPECT_THAT(text(ReportCommand::Kind::summary, path), HasSubstr("  ?  (thread 8)       2"));
  EXPECT_EQ(kmem(path)["tasks"]["rows"][0]["pid"], nullptr);
  EXPECT_THAT(text(ReportCommand::Kind::kmem, path), HasSubstr("\n(thread 8) "));
}

TEST_F(Report, IsEmptyForATraceWithoutEvents) {
  TraceSpec empty = spec();
  empty.packets.clear();
  const std::string path = write(empty);
  EXPECT_EQ(kmem(path)["call_sites"]["rows"], json::array());
  EXPECT_EQ(report(ReportCommand::Kind::summary, {path})["total"]["events"], 0);
  EXPECT_NE(text(ReportCommand::Kind::kmem, path), "");
  EXPECT_NE(text(ReportCommand::Kind::summary, path), "");
  EXPECT_NE(text(ReportCommand::Kind::sched, path), "");
  EXPECT_NE(text(ReportCommand::Kind::syscalls, path), "");
  EXPECT_TRUE(result_);
}

TEST_F(Report, FailsForADirectoryThatIsNoTrace) {
  run(command(ReportCommand::Kind::kmem, {directory_.path() / "none"}), true);
  ASSERT_FALSE(result_);
  EXPECT_EQ(out_, "");
}

TEST_F(Report, ShowsTheReadablePartOfADamagedTrace) {
  const std::string path = write(spec());
  std::filesystem::resize_file(std::filesystem::path(path) / "ctf" / "cpu1", 40);
  const json actual = kmem(path);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 2);
  EXPECT_THAT(actual["caveats"], ElementsAre("a part of the traces could not be read"));
}

}  // namespace
}  // namespace ktraced::test
