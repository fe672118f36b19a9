// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/views/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const json kStatus = json::parse(R"({
  "state": "running", "version": "0.1.0", "pid": 812, "kernel": "6.18.44",
  "events": {
    "kmalloc": {"enabled": true, "available": true, "recorded": 1234567, "filtered": 89,
                "dropped": 7, "missed": 0, "overwritten": 0,
                "per_cpu": [{"cpu": 0, "recorded": 1234560, "filtered": 80, "dropped": 7},
                            {"cpu": 1, "recorded": 7, "filtered": 9, "dropped": 0}]},
    "kfree": {"enabled": false, "available": true, "recorded": 0, "filtered": 0, "dropped": 0,
              "missed": 0, "overwritten": 0, "per_cpu": []},
    "mark_victim": {"enabled": false, "available": false, "reason": "this kernel has no such tracepoint",
                    "recorded": 0, "per_cpu": []}},
  "totals": {"recorded": 1234567, "filtered": 89, "dropped": 7, "missed": 0, "overwritten": 0},
  "stream": {"max_latency_ms": 100},
  "sessions": [
    {"name": "recorder", "pid": 0, "uid": 0, "age_ns": 3600000000000, "state": "recording",
     "ring_bytes": 0, "rings": [], "totals": {"recorded": 1234567, "filtered": 89}},
    {"name": "client-1", "pid": 99, "uid": 7, "age_ns": 1500000000, "state": "paused",
     "ring_bytes": 4194304,
     "rings": [{"cpu": 0, "ring_bytes": 4194304, "produced": 5000, "consumed": 4000}],
     "totals": {"recorded": 70, "filtered": 8, "dropped": 6, "missed": 5}}],
  "flight": {"enabled": false, "bytes": 0},
  "filter": {"pid": [1, 2], "exclude": {"comm": ["sshd"]}, "syscalls_only": ["openat"]},
  "subscribers": [{"pid": 99, "uid": 0, "queued_bytes": 0, "lost_events": 12}]
})");

TEST(StatusView, ShowsStateCountersAndUnavailableEvents) {
  EXPECT_EQ(status_view(kStatus, {}, Colours(false)),
            "ktraced 0.1.0 (pid 812) on Linux 6.18.44: running\n"
            "flight recorder: off\n"
            "filter: pid=1,2 exclude.comm=sshd\n"
            "system calls: only openat\n"
            "pid 99 (uid 0) reads too slowly: 0 bytes waiting, 12 events lost\n"
            "\n"
            "SESSION   STATE      OWNER              AGE      RINGS   RECORDED  FILTERED  DROPPED  "
            "MISSED\n"
            "recorder  recording  ktraced         60 min          -  1,234,567        89        0  "
            "     0\n"
            "client-1  paused     pid 99 (uid 7)   1.5 s  1 x 4 MiB         70         8        6  "
            "     5\n"
            "\n"
            "EVENT    STATE   RECORDED  FILTERED  DROPPED  MISSED  OVERWRITTEN\n"
            "kmalloc  on     1,234,567        89        7       0            0\n"
            "total           1,234,567        89        7       0            0\n"
            "more events off: 1 (--verbose lists them)\n"
            "not available: mark_victim (this kernel has no such tracepoint)\n");
}

TEST(StatusView, ShowsWhereMetricsAreServed) {
  json status = kStatus;
  status["metrics"] = json::array();
  EXPECT_THAT(status_view(status, {}, Colours(false)), Not(HasSubstr("metrics:")));
  status["metrics"] = {{{"address", "127.0.0.1:9464"}, {"passed", true}},
                       {{"address", "/run/ktraced/\x1b"}, {"passed", false}}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("\nmetrics: 127.0.0.1:9464 (passed by the service manager), "
                        "/run/ktraced/\\x1b\n"));
}

TEST(StatusView, ListsTheOtherEventsWhenVerbose) {
  EXPECT_THAT(status_view(kStatus, {.verbose = true}, Colours(false)),
              HasSubstr("off: kfree\n"
                        "not available: mark_victim (this kernel has no such tracepoint)\n"));
}

TEST(StatusView, ReportsWhatIsUnknownOnThisKernel) {
  json status = kStatus;
  status["unknown"] = {
      {{"what", "NUMA nodes of memory"}, {"reason", "/proc/zoneinfo has no zones"}}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              EndsWith("not available: mark_victim (this kernel has no such tracepoint)\n"
                       "not available: NUMA nodes of memory (/proc/zoneinfo has no zones)\n"));
}

TEST(StatusView, ShowsSamples) {
  json status = kStatus;
  status["sampling"] = {{"enabled", false}};
  EXPECT_THAT(status_view(status, {}, Colours(false)), Not(HasSubstr("sampling")));
  status["sampling"] = {{"enabled", true},  {"period", "10ms"}, {"cpus", {0, 1}},
                        {"samples", 12345}, {"missing", 0},     {"max_rate", 100000}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("\nsampling: each 10ms on 2 CPUs, 12,345 samples, none missing\n"));
  status["sampling"]["missing"] = 17;
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr(", 17 missing (idle CPUs pause; kernel.perf_event_max_sample_rate is "
                        "100,000)\n"));
}

TEST(StatusView, SaysThatStacksHaveFewerFramesThanAskedFor) {
  json status = kStatus;
  status["stacks"] = {{"bytes", 160'000}, {"depth", 64}, {"kernel_depth", 64}};
  EXPECT_THAT(status_view(status, {}, Colours(false)), Not(HasSubstr("frames")));
  status["stacks"]["kernel_depth"] = 17;
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              EndsWith("stacks of the kernel have at most 17 frames, not 64: "
                       "kernel.perf_event_max_stack allows no more\n"));
  status["stacks"]["bytes"] = 0;
  EXPECT_THAT(status_view(status, {}, Colours(false)), Not(HasSubstr("frames")));
}

TEST(StatusView, ReportsWhatIsMissingWithoutAHelperProgram) {
  json status = kStatus;
  status["unavailable_helpers"] = {{{"program", "cgroup_made"},
                                    {"reason", "the kernel refused its program: out of memory"},
                                    {"effect", "new control groups have no path"}}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              EndsWith("not available: cgroup_made (the kernel refused its program: out of memory)"
                       ": new control groups have no path\n"));
}

TEST(StatusView, ShowsHowFarTheFlightRecorderReachesBack) {
  json status = kStatus;
  for (const auto& [ns, text] : {std::pair{4'321'000ULL, "holds the last 4.321 ms\n"},
                                 std::pair{1'500'000'000ULL, "holds the last 1.5 s\n"},
                                 std::pair{12'340'000'000ULL, "holds the last 12.3 s\n"},
                                 std::pair{600'000'000'000ULL, "holds the last 10 min\n"},
                                 std::pair{10'800'000'000'000ULL, "holds the last 3.0 h\n"}}) {
    status["flight"] = {{"enabled", true}, {"bytes", 1 << 20}, {"reach_ns", ns}};
    EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr(text));
  }
}

TEST(StatusView, ShowsTheSnapshotThatHasWhatTheFlightRecorderHadBefore) {
  json status = kStatus;
  status["flight"] = {
      {"enabled", true},
      {"bytes", 1 << 20},
      {"since_ns", 50'000'000'000},
      {"reach_ns", 300'000'000},
      {"last_snapshot",
       {{"name", "a\x1b"}, {"begin_ns", 14'800'000'000}, {"end_ns", 50'000'000'000}}}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("on, 1 MiB, the last 35.5 s are known: up to 300 ms ago they are saved in "
                        "snapshot a\\x1b\n"));
  status["flight"]["since_ns"] = 50'000'000'001;
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("holds the last 300 ms\n"))
      << "something between them is overwritten";
  status["flight"]["last_snapshot"] = nullptr;
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("holds the last 300 ms\n"));
}

TEST(StatusView, ShowsPendingSnapshotsOfAnEarlierDaemon) {
  json status = kStatus;
  status["flight"] = {{"enabled", true},
                      {"bytes", 1 << 20},
                      {"reach_ns", 1'500'000'000},
                      {"unsaved", "no room in /d"}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("flight recorder: on, 1 MiB, holds the last 1.5 s\n"
                        "what an earlier daemon recorded is not on disk yet: no room in /d\n"
                        "filter:"));
}

TEST(StatusView, ReportsTheLossOfObjectsThatWereReplaced) {
  json status = kStatus;
  status["replaced"] = {{{"object", "object-1-2x1024k"},
                         {"reason", "its programs are of another build"},
                         {"since_ns", 1'500'000'000},
                         {"until_ns", 92'000'000'000}}};
  EXPECT_THAT(
      status_view(status, {}, Colours(false)),
      HasSubstr("flight recorder: off\n"
                "lost, except for what is on disk: the last 90.5 s of object-1-2x1024k: its "
                "programs are of another build\n"));
}

TEST(StatusView, ShowsWhySnapshotsCannotBeCounted) {
  json status = kStatus;
  status["flight"] = {{"enabled", true}, {"snapshots", nullptr}, {"snapshots_unknown", "why"}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("how many snapshots there are is unknown: why\n"));
}

TEST(StatusView, ShowsWhatRetentionRemoved) {
  json status = kStatus;
  status["flight"] = {
      {"enabled", true}, {"evicted", 0}, {"evicted_bytes", 0}, {"limits_exceeded", 0}};
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              testing::Not(HasSubstr("flight.max_snapshots")));
  status["flight"].update({{"evicted", 1234}, {"evicted_bytes", 3 << 20}, {"limits_exceeded", 2}});
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              HasSubstr("removed by flight.max_snapshots or flight.max_total_mb: 1,234 snapshots, "
                        "3 MiB\n"
                        "kept snapshots exceeded the limits 2 times\n"));
}

TEST(StatusView, NamesOnlyReadersThatHaveLostEvents) {
  json status = kStatus;
  status["subscribers"][0]["lost_events"] = 0;
  EXPECT_THAT(status_view(status, {}, Colours(false)), Not(HasSubstr("reads too slowly")));
}

TEST(StatusView, ShowsTheOutputBetweenTwoTraces) {
  json status = kStatus;
  status["stream"]["output"] = {{"enabled", true}, {"directory", "/d"}, {"trace", nullptr}};
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("to /d: no trace yet,"));
  status["stream"]["output"]["last_trace"] = "stream-1";
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("to /d: stream-1 is finished,"));
  status["stream"]["output"]["trace"] = "stream-2";
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("to /d: stream-2,"));
}

TEST(StatusView, ReportsWhyTheOutputLosesEvents) {
  json status = kStatus;
  json& output = status["stream"]["output"];
  output = {{"enabled", true}, {"directory", "/d"}, {"lost_events", 12}};
  EXPECT_THAT(status_view(status, {}, Colours(false)), HasSubstr("come faster than they can be"));
  output["failing"] = true;
  output["last_error"] = "no room in /d";
  EXPECT_THAT(status_view(status, {}, Colours(false)),
              AllOf(HasSubstr("recording fails: no room in /d"), Not(HasSubstr("come faster"))));
}

TEST(OverheadView, ShowsEachProgramAndTheirSum) {
  const json overhead = {
      {"duration_ns", 2'000'000'000},
      {"programs",
       {{{"program", "sched_switch"},
         {"runs", 5000},
         {"ns_per_run", 241.4},
         {"cpu_percent", 0.06}}}},
      {"total",
       {{"program", "total"}, {"runs", 5000}, {"ns_per_run", 241.4}, {"cpu_percent", 0.06}}}};
  EXPECT_EQ(overhead_view(overhead, Colours(false)),
            "PROGRAM       HITS/S  NS/HIT  % OF A CPU\n"
            "sched_switch   2,500     241       0.060\n"
            "total          2,500     241       0.060\n");
  EXPECT_THAT(overhead_view(json::object(), Colours(false)), HasSubstr("no BPF program"));
}

TEST(StatusView, ShowsEachCpuOnRequest) {
  EXPECT_THAT(status_view(kStatus, {.per_cpu = true}, Colours(false)),
              HasSubstr("EVENT    CPU   RECORDED  FILTERED  DROPPED\n"
                        "kmalloc    0  1,234,560        80        7\n"
                        "kmalloc    1          7         9        0\n"
                        "\n"
                        "SESSION   CPU   SIZE  PRODUCED  CONSUMED  UNREAD\n"
                        "client-1    0  4 MiB     5,000     4,000   1,000\n"));
}

TEST(StatusView, UsesColoursOnlyWhenRequested) {
  EXPECT_THAT(status_view(kStatus, {.per_cpu = true}, Colours(false)), Not(HasSubstr("\x1b")));
  EXPECT_THAT(status_view(kStatus, {}, Colours(true)), HasSubstr("\x1b[31m      7\x1b[0m"));
}

TEST(StatusView, SurvivesAnswersOfAnotherForm) {
  for (const char* text : {"{}", "[]", "7", R"({"events":[1,2],"totals":3,"stream":"x"})",
                           R"({"events":{"a":7,"b":{"recorded":-1,"enabled":"yes"}}})"})
    EXPECT_NE(status_view(json::parse(text), {.per_cpu = true}, Colours(false)), "");
}

const json kEvents = json::parse(R"({"events":[
    {"id":10,"name":"kmalloc","group":"kmem","doc":"memory","enabled":true,"available":true,
     "print":"\"%pS\", REC->call_site",
     "fields":[{"name":"call_site","type":"kaddr_t","doc":""},
               {"name":"args","type":"hex_t[6]","doc":"six"}]},
    {"id":20,"name":"mark_victim","group":"oom","doc":"","enabled":false,"available":false,
     "reason":"no such tracepoint","fields":[]},
    {"id":11,"name":"irq:irq_handler_exit","group":"irq","enabled":false,"available":true,
     "fields":[{"name":"irq","type":"s32"},{"name":"ret","type":"s32"}]}]})");

TEST(EventsView, HasOneAlignedLinePerEvent) {
  EXPECT_EQ(events_view(kEvents, false, Colours(false)),
            "EVENT                 GROUP  STATE  DESCRIPTION\n"
            "kmalloc               kmem   on     memory\n"
            "mark_victim           oom    -      not available: no such tracepoint\n"
            "irq:irq_handler_exit  irq    off    irq, ret\n");
  EXPECT_EQ(events_view(json::parse("7"), false, Colours(false)), "");
}

TEST(EventsView, TruncatesLongListsOfFieldsAt120Columns) {
  json event = {{"name", "ext4:ext4_request_blocks"}, {"group", "ext4"}, {"available", true}};
  for (int i = 0; i < 40; ++i) event["fields"].push_back({{"name", "field" + std::to_string(i)}});
  std::istringstream lines(events_view({{"events", {event}}}, false, Colours(false)));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 120U);
    EXPECT_TRUE(line.ends_with("DESCRIPTION") || line.ends_with(", ...")) << line;
  }
}

TEST(EventsView, ShowsFieldsWithTypesAndThePrintFormatWhenVerbose) {
  EXPECT_EQ(events_view(kEvents, true, Colours(false)),
            "kmalloc  id 10  group kmem  on\n"
            "    memory\n"
            "    kaddr_t call_site\n"
            "    hex_t args[6]                 six\n"
            "    print format: \"%pS\", REC->call_site\n"
            "mark_victim  id 20  group oom  not available: no such tracepoint\n"
            "irq:irq_handler_exit  id 11  group irq  off\n"
            "    s32 irq\n"
            "    s32 ret\n");
  EXPECT_EQ(events_view(json::parse("7"), true, Colours(false)), "");
}

TEST(ChangedEventsView, NamesAFewAndCountsMany) {
  EXPECT_EQ(changed_events_view({{"events", {"kmalloc", "kfree"}}}, true),
            "enabled: kmalloc, kfree\n");
  EXPECT_EQ(changed_events_view({{"events", {"kmalloc"}}}, false), "disabled: kmalloc\n");
  EXPECT_EQ(changed_events_view({{"events", json::array()}}, false), "no event disabled\n");
  json answer;
  for (int i = 0; i < 1213; ++i) answer["events"].push_back("e" + std::to_string(i));
  for (int i = 0; i < 30; ++i) answer["skipped"]["s" + std::to_string(i)] = "too long";
  for (int i = 0; i < 9; ++i)
    answer["skipped"]["t" + std::to_string(i)] = "why " + std::to_string(i);
  EXPECT_EQ(changed_events_view(answer, true),
            "1,213 events enabled\n"
            "not enabled: 30 events: too long\n"
            "not enabled: t0: why 0\n"
            "not enabled: t1: why 1\n"
            "not enabled: t2: why 2\n"
            "not enabled: 6 more events; --json lists them\n");
}

TEST(Table, NumbersAreReadable) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(18446744073709551615U), "18,446,744,073,709,551,615");
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(4194304), "4 MiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
}

}  // namespace
}  // namespace ktraced
