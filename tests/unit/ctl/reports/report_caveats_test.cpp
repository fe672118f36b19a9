// SPDX-License-Identifier: BSD-2-Clause
// Caveats of reports.
#include "unit/ctl/reports/report_fixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

class ReportCaveats : public ReportTest {};

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A config change in the middle of the trace, from `first` to `second`.
std::function<void(Manifest&)> changed(const json& first, const json& second) {
  return [=](Manifest& m) {
    m.config = first;
    m.config["changes"] = {{{"ns", 2 * kSecond}, {"config", second}}};
  };
}

TEST_F(ReportCaveats, KmemHasCaveatsForEventsTheTraceMayLack) {
  auto caveats = [&](const std::function<void(Manifest&)>& change) {
    const json actual = kmem(write(spec(), change));
    std::filesystem::remove_all(directory_.path() / "a");
    EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], actual["caveats"].empty() ? 0 : 1);
    return actual["caveats"].get<std::vector<std::string>>();
  };
  EXPECT_THAT(caveats([](Manifest& m) { m.config["filter"] = {{"pid", json::array({8})}}; }),
              ElementsAre("a filter was set: what other tasks did is not in the trace"));
  EXPECT_THAT(caveats([](Manifest& m) {
                m.config["filter"] = {{"pid", json::array()},
                                      {"exclude", {{"uid", json::array()}}},
                                      {"syscalls_only", json::array({"openat"})}};
              }),
              ElementsAre());
  EXPECT_THAT(caveats([](Manifest& m) { m.config["events"] = {"kmalloc"}; }),
              ElementsAre("kfree was not traced"));
  EXPECT_THAT(caveats([](Manifest& m) { m.config["events"] = {"kmalloc", "kfree"}; }),
              ElementsAre());
  EXPECT_THAT(caveats([](Manifest& m) { m.missed["kfree"] = 3; }),
              ElementsAre("the kernel skipped 3 hits of kfree"));
  EXPECT_THAT(caveats([](Manifest& m) { m.missed["kmalloc"] = 3; }), ElementsAre());
  EXPECT_THAT(caveats([](Manifest& m) { m.incomplete_because = {"the disk was full"}; }),
              ElementsAre("the disk was full"));
}

// Memory that CPU 1 may have freed before its ring begins.
TEST_F(ReportCaveats, KmemIsUncertainOfTheTimeThatNotAllCpusHave) {
  ReportCommand all = command(ReportCommand::Kind::kmem, {write(spec(), [](Manifest& m) {
                                for (CpuAccount& cpu : m.cpus) cpu.events["kfree"].overwritten = 1;
                              })});
  all.times.since = TimePoint{.kind = TimePoint::Kind::boot, .ns = 0, .text = {}};
  run(all, true);
  const json actual = json::parse(out_);
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 1);
  EXPECT_THAT(actual["caveats"],
              ElementsAre("what CPU 1 did in the first 1.000 s was overwritten"));
}

TEST_F(ReportCaveats, KmemHasCaveatsForEventsBeforeAGapBetweenTraces) {
  const std::string first = write(spec(kSecond), {}, "first");
  TraceSpec later = spec(10 * kSecond);
  later.packets = {{.cpu = 0, .records = {kmalloc_at(10 * kSecond, 0x7000)}}};
  const json actual = report(ReportCommand::Kind::kmem, {write(later, {}, "later"), first});
  EXPECT_EQ(actual["types"]["kmalloc"]["held"], 2);
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 1);
  EXPECT_THAT(actual["caveats"][0].get<std::string>(),
              HasSubstr("nothing is in the traces for 7.000 s before later"));
}

TEST_F(ReportCaveats, ATraceThatContinuesAnotherHasNoGapBefore) {
  const TraceSpec first = spec(kSecond);
  TraceSpec next = spec(first.end_ns + 1);
  next.packets = {{.cpu = 0, .records = {kmalloc_at(first.end_ns + 1, 0x7000)}}};
  const json actual =
      report(ReportCommand::Kind::kmem, {write(first, {}, "first"), write(next, {}, "next")});
  EXPECT_EQ(actual["types"]["kmalloc"]["held"], 2);
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 0);
  EXPECT_THAT(actual["caveats"], ElementsAre());
}

// CPU 0 has overwritten the beginning of the second one, CPU 1 has not.
TEST_F(ReportCaveats, ASnapshotThatContinuesAnotherHasNoGapBeforeWhileOneRingIsWhole) {
  const TraceSpec first = spec(kSecond);
  const uint64_t begin_ns = first.end_ns + kSecond;
  TraceSpec next = spec(begin_ns);
  next.packets = {{.cpu = 0, .records = {kmalloc_at(begin_ns, 0x7000)}},
                  {.cpu = 1, .records = {kmalloc_at(begin_ns + 1, 0x8000)}}};
  const auto before = write(first, {}, "first");
  const auto after = write(
      next,
      [&](Manifest& m) {
        m.since_ns = first.end_ns;
        for (CpuAccount& cpu : m.cpus)
          if (cpu.cpu == 0) cpu.events["kmalloc"].overwritten = 1;
      },
      "next");
  const json actual = report(ReportCommand::Kind::kmem, {before, after});
  EXPECT_EQ(actual["types"]["kmalloc"]["held"], 3);
  EXPECT_THAT(actual["caveats"],
              ElementsAre("what CPU 0 did in the first 1.000 s of next was overwritten"));
}

// 9 runs on CPU 0 when the second packet begins, which is damaged.
TEST_F(ReportCaveats, SchedDoesNotKnowWhatRanInAnUnreadablePart) {
  auto change = [](uint64_t ts, int32_t from, int32_t to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
  };
  TraceSpec damaged = spec();
  damaged.packets = {{.cpu = 0, .records = {change(kSecond, 0, 8), change(kSecond + 100, 8, 9)}},
                     {.cpu = 0, .records = {change(kSecond + 200, 9, 0)}},
                     {.cpu = 1, .records = {change(kSecond, 0, 9), change(kSecond + 900, 9, 0)}}};
  damaged.end_ns = kSecond + 1000;
  const std::filesystem::path trace = write(damaged);
  const auto file = trace / "ctf" / "cpu0";
  const std::string whole = read_file(file);
  uint64_t first_bits = 0;
  std::memcpy(&first_bits, &whole[offsetof(PacketHeader, packet_size)], sizeof(first_bits));
  for (const size_t size : {whole.size() - 8, first_bits / 8}) {  // a part of the packet; none
    std::filesystem::resize_file(file, size);
    run(command(ReportCommand::Kind::sched, {trace}), true);
    EXPECT_FALSE(result_);
    const json actual = json::parse(out_);
    EXPECT_EQ(actual["cpus"][0]["busy_ns"], 100);
    EXPECT_EQ(actual["cpus"][0]["unknown_ns"], 900);
    EXPECT_EQ(actual["cpus"][1]["busy_ns"], 900);
    const json& source = actual["sources"][0];
    EXPECT_FALSE(source["complete"]);
    EXPECT_THAT(source["incomplete_because"][0].get<std::string>(), HasSubstr("cpu0 is damaged"));
  }
}

// Other tasks are not in the trace, so the CPU was not idle all the time.
TEST_F(ReportCaveats, SchedDoesNotReportFilteredTimeAsIdle) {
  auto change = [](uint64_t ts, int32_t from, int32_t to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
  };
  TraceSpec switches = spec();
  switches.packets = {{.cpu = 0,
                       .records = {change(kSecond, 0, 8), change(kSecond + 5000, 8, 9),
                                   change(kSecond + 9000, 9, 8)}}};
  const std::string path =
      write(switches, [](Manifest& m) { m.config["filter"] = {{"pid", {8}}}; });
  const json actual = report(ReportCommand::Kind::sched, {path});
  EXPECT_EQ(actual["cpus"][0]["idle_ns"], 0);
  EXPECT_EQ(actual["cpus"][0]["unknown_ns"], 4000);
  EXPECT_EQ(actual["threads"]["rows"][1]["tid"], 9);
  EXPECT_EQ(actual["threads"]["rows"][1]["on_cpu_ns"], nullptr);
  EXPECT_THAT(actual["caveats"][0].get<std::string>(), HasSubstr("a filter was set"));
  EXPECT_THAT(text(ReportCommand::Kind::sched, path), HasSubstr("     9  nine        -"));
}

TEST_F(ReportCaveats, HasCaveatsForEventsNotTracedAllTheTime) {
  auto caveats = [&](const json& first, const json& second) {
    const json actual = kmem(write(spec(), changed(first, second)));
    std::filesystem::remove_all(directory_.path() / "a");
    return actual["caveats"].get<std::vector<std::string>>();
  };
  const json running = {{"state", "running"}}, paused = {{"state", "paused"}};
  EXPECT_THAT(caveats(running, paused), ElementsAre("tracing was paused from +1.000 s on"));
  EXPECT_THAT(caveats(paused, running), ElementsAre("tracing was paused up to +1.000 s"));
  const json pid = {{"filter", {{"pid", {8}}}}}, uid = {{"filter", {{"uid", {8}}}}};
  EXPECT_THAT(
      caveats(running, pid),
      ElementsAre("a filter was set from +1.000 s on: what other tasks did is not in the trace"));
  EXPECT_THAT(caveats(pid, uid),
              ElementsAre("a filter was set: what other tasks did is not in the trace",
                          "the filter was changed at +1.000 s"));
  EXPECT_THAT(caveats({{"events", {"kmalloc"}}}, {{"events", {"kmalloc", "kfree"}}}),
              ElementsAre("kfree was not traced up to +1.000 s"));
  EXPECT_THAT(
      caveats({{"events", {"kmalloc", "kfree"}}}, {{"events", {"kmalloc", "kfree", "sys_enter"}}}),
      ElementsAre())
      << "the change does not affect this report";
}

TEST_F(ReportCaveats, KmemIsUncertainOfMemoryAllocatedBeforeAPause) {
  const json running = {{"state", "running"}}, paused = {{"state", "paused"}};
  const json actual = kmem(write(spec(), [&](Manifest& m) {
    m.config = running;
    m.config["changes"] = {{{"ns", kSecond + 50}, {"config", paused}},
                           {{"ns", kSecond + 60}, {"config", running}}};
  }));
  EXPECT_EQ(actual["types"]["kmalloc"]["held"], 1);
  EXPECT_EQ(actual["types"]["kmalloc"]["uncertain"], 0) << "allocated afterwards";
  EXPECT_EQ(actual["types"]["kmalloc"]["freed_elsewhere"], 0) << "allocated before";
  EXPECT_THAT(actual["caveats"], ElementsAre("tracing was paused from +0.000 s to +0.000 s"));
}

TEST_F(ReportCaveats, CompletedCallsTakeThePlaceOfBothRecords) {
  const std::string path =
      write(spec(), [](Manifest& m) { m.config["events"] = {"sys_completed"}; });
  ::testing::internal::CaptureStderr();
  const json actual = report(ReportCommand::Kind::syscalls, {path});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(actual["caveats"],
              ElementsAre("system calls were recorded as they returned: those that did not return "
                          "are not in the trace"));
}

TEST_F(ReportCaveats, ReportsMissingEventsAndHowToEnableThem) {
  auto actual = [&](ReportCommand::Kind kind, const json& events) {
    const std::string path = write(spec(), [&](Manifest& m) { m.config["events"] = events; });
    ::testing::internal::CaptureStderr();
    report(kind, {path});
    std::filesystem::remove_all(path);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(actual(ReportCommand::Kind::syscalls, {"kmalloc"}),
            "ktracectl: report syscalls needs sys_enter and sys_exit, not traced: 'ktracectl "
            "events enable sys_enter sys_exit' turns them on in the recorder, --event "
            "sys_enter,sys_exit in a recording\n");
  EXPECT_EQ(actual(ReportCommand::Kind::sched, {"sched_switch"}),
            "ktracectl: report sched needs sched_wakeup, not traced: 'ktracectl events enable "
            "sched_wakeup' turns it on in the recorder, --event sched_wakeup in a recording\n");
  EXPECT_EQ(actual(ReportCommand::Kind::kmem, {"sys_enter"}), "") << "the trace has records of it";
  EXPECT_EQ(actual(ReportCommand::Kind::summary, {"sys_enter"}), "");
}

}  // namespace
}  // namespace ktraced::test
