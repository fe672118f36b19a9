// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/tables.h"

#include "unit/ctl/query/query_fixture.h"
#include "unit/support/recorded.h"

namespace ktraced::test {
namespace {

class TraceTables : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }

  static Bytes ended(uint64_t ts, int32_t tid, int32_t code, bool is_last) {
    return make_record(
        EVENT_sched_process_exit, ts, static_cast<uint32_t>(tid),
        rec_sched_process_exit{
            .pid = tid, .exit_code = code, .group_dead = static_cast<bool_t>(is_last)});
  }
  // Instead of the usual trace.
  void open_other(const TraceSpec& trace) {
    std::filesystem::remove_all(directory_.path() / "trace");
    open(trace);
  }
  // Thread 9 of shell 8 starts 20, which ends with 3; 8 ends before 9, which is killed.
  static TraceSpec family() {
    TraceSpec trace = spec();
    trace.names = {task_name(8, 1, 8, "shell"), task_name(9, 1, 8, "worker", 7),
                   task_name(20, 1100, 20, "child", 1090), task_name(20, 2500, 20, "again", 2490)};
    trace.packets = {{.cpu = 0,
                      .records = {forked(1100, 9, 20), ended(2000, 20, 3 << 8, true),
                                  forked(2500, 8, 20), ended(3000, 8, 0, false)}},
                     {.cpu = 1, .records = {ended(3500, 9, 9, true)}}};
    return trace;
  }
  // Thread 30 of process 30 is moved into a container of a pod, while 31 stays.
  static TraceSpec moved() {
    TraceSpec trace = spec();
    trace.names = {task_in_cgroup(30, 1, 30, 5, "web"),    task_in_cgroup(31, 1, 31, 5, "ssh"),
                   task_in_cgroup(32, 1, 30, 5, "thread"), task_in_cgroup(30, 1700, 30, 6, "web"),
                   cgroup_path(5, "/system.slice"),        cgroup_path(6, kPodPath)};
    return trace;
  }
  static constexpr std::string_view kContainer =
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  static constexpr std::string_view kPodPath =
      "/kubepods/pod1b2c3d4e-0000-1111-2222-333344445555/"
      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
};

TEST_F(TraceTables, ListThreadsAndProcesses) {
  EXPECT_EQ(query("SELECT tid, pid, comm, uid, start_ts, end_ts FROM threads"),
            "8|8|eight|1000||;9|8|nine\\x1b[31m|1000|7|;");
  EXPECT_EQ(query("SELECT pid, comm, uid, start_ts, end_ts, threads FROM processes"),
            "8|eight|1000|||2;");
}

TEST_F(TraceTables, DistinguishThreadsWithTheSameId) {
  TraceSpec reused = spec();
  reused.names = {task_name(8, 10, 8, "first", 10), task_name(8, 50, 0, "", 10),
                  task_name(8, 60, 8, "second", 60), task_name(8, 70, 8, "renamed", 60),
                  task_name(11, 70, 7, "alone", 65)};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(reused);
  EXPECT_EQ(query("SELECT tid, comm, start_ts, end_ts FROM threads"),
            "8|first|10|50;8|renamed|60|;11|alone|65|;");
  EXPECT_EQ(query("SELECT pid, comm, start_ts, threads FROM processes"),
            "7|alone||1;8|first|10|1;8|renamed|60|1;");
}

TEST_F(TraceTables, KnowFromEventsWhenTasksEnd) {
  open_other(family());
  EXPECT_EQ(query("SELECT tid, comm, end_ts FROM threads"),
            "8|shell|3000;9|worker|3500;20|child|2000;20|again|;");
  EXPECT_EQ(query("SELECT pid, comm, end_ts FROM processes"),
            "8|shell|3500;20|child|2000;20|again|;");
  EXPECT_EQ(query("SELECT pid FROM processes WHERE end_ts < 3000"), "20;");
}

TEST_F(TraceTables, ListTasksThatLiveInTheWindow) {
  open_other(family());
  set_window({.begin_ns = 2700, .end_ns = 3200});
  EXPECT_EQ(query("SELECT pid, end_ts FROM processes"), "8|3500;20|;")
      << "the end is known although it is later";
  EXPECT_EQ(query("SELECT tid, comm FROM threads"), "8|shell;9|worker;20|again;");
  set_window({.begin_ns = 3200, .end_ns = 3400});
  EXPECT_EQ(query("SELECT tid, comm FROM threads"), "9|worker;20|again;");
  EXPECT_EQ(query("SELECT pid, threads FROM processes"), "8|2;20|1;") << "a thread of it lives";
  set_window({.begin_ns = 0, .end_ns = 1050});
  EXPECT_EQ(query("SELECT tid, comm FROM threads"), "8|shell;9|worker;");
}

TEST_F(TraceTables, ListSelectedTasks) {
  open_other(family());
  const auto tasks = [&](const SelectionArgs& args) {
    select(args);
    return query("SELECT tid, comm FROM threads") + " of " +
           query("SELECT pid, comm FROM processes");
  };
  EXPECT_EQ(tasks({.pids = {8}}), "8|shell;9|worker; of 8|shell;");
  EXPECT_EQ(tasks({.tids = {9}}), "9|worker; of 8|shell;");
  EXPECT_EQ(tasks({.comms = {"again"}}), "20|again; of 20|again;");
  EXPECT_EQ(tasks({.uids = {7}, .comms = {"child"}}), " of ");
  EXPECT_EQ(tasks({.cpus = {0}}),
            "8|shell;9|worker;20|child;20|again; of 8|shell;20|child;20|again;");
  set_window({.begin_ns = 0, .end_ns = 2200});
  EXPECT_EQ(tasks({.comms = {"again", "child"}}), "20|child; of 20|child;");
}

TEST_F(TraceTables, ListTasksThatWereInAControlGroup) {
  open_other(moved());
  const auto tids = [&](const char* group) {
    select({.cgroups = {group}});
    return query("SELECT tid FROM threads") + query("SELECT tid FROM cgroup_moves");
  };
  EXPECT_EQ(tids("kubepods"), "30;32;30;") << "its process was moved there";
  EXPECT_EQ(tids("system.slice"), "30;31;32;30;");
  EXPECT_EQ(tids("nosuch"), "");
  set_window({.begin_ns = 0, .end_ns = 1699});
  EXPECT_EQ(tids("kubepods"), "") << "not yet";
  set_window({.begin_ns = 1800, .end_ns = 4000});
  EXPECT_EQ(tids("system.slice"), "31;") << "no longer";
}

TEST_F(TraceTables, KnowTheEndOfEveryProcessThatHasEndedInARecording) {
  for (const char* name : {"6.1-whole", "6.12-whole", "6.12-strings"}) {
    open(std::vector<std::filesystem::path>{kRecorded / name});
    EXPECT_EQ(
        query("SELECT p.pid, e.ts FROM processes p JOIN sched_process_exit e ON e.tid = p.pid "
              "AND e.ts >= p.start_ts WHERE p.end_ts IS NULL"),
        "")
        << name;
    EXPECT_NE(query("SELECT count(*) FROM processes WHERE end_ts IS NOT NULL"), "0;") << name;
  }
}

TEST_F(TraceTables, GoOnWhenAnotherThreadThanTheMainOneRunsAProgram) {
  TraceSpec trace = spec();
  trace.names = {task_name(8, 1, 8, "shell"), task_name(9, 1, 8, "worker", 7)};
  Bytes exec = make_record(
      EVENT_sched_process_exec, 2100, 8,
      rec_sched_process_exec{.pid = 8,
                             .old_pid = 9,
                             .parent_pid = 1,
                             .argv = sizeof(rec_sched_process_exec) | 1U << LOCATED_COUNT_SHIFT});
  exec.resize(exec.size() + 8);  // empty texts
  const auto size = static_cast<u16>(exec.size());
  std::memcpy(&exec[offsetof(record, size)], &size, sizeof(size));
  trace.packets = {{.cpu = 0, .records = {ended(2000, 8, 9, false), exec}}};
  open_other(trace);
  EXPECT_EQ(query("SELECT tid, end_ts FROM threads"), "8|;9|2100;");
  EXPECT_EQ(query("SELECT pid, end_ts, exit_signal, parent_pid FROM processes"), "8|||1;");
}

// Of the last thread to end, whatever the main thread ended with.
TEST_F(TraceTables, KnowTheStatusOfAProcess) {
  TraceSpec trace = family();
  trace.packets = {
      {.cpu = 0, .records = {ended(2000, 8, 7 << 8, false), ended(2500, 20, 7 << 8, false)}},
      {.cpu = 1, .records = {ended(3500, 9, 0, true)}}};
  open_other(trace);
  EXPECT_EQ(query("SELECT pid, comm, exit_status, exit_signal FROM processes WHERE pid = 8"),
            "8|shell|0|;");
  EXPECT_EQ(query("SELECT count(*) FROM processes WHERE pid = 20 AND exit_status IS NULL"), "2;");
}

TEST_F(TraceTables, KnowWhoStartedAProcessAndHowItEnded) {
  open_other(family());
  EXPECT_EQ(query("SELECT pid, comm, parent_pid, exit_status, exit_signal FROM processes"),
            "8|shell|||SIGKILL;20|child|8|3|;20|again|8||;");
  open(std::vector<std::filesystem::path>{kRecorded / "6.12-strings"});
  EXPECT_EQ(query("SELECT p.argv FROM processes p JOIN sched_process_exec e ON e.tid = p.pid "
                  "GROUP BY p.pid HAVING p.argv IS NOT (SELECT argv FROM sched_process_exec WHERE "
                  "tid = p.pid ORDER BY ts DESC LIMIT 1)"),
            "");
  EXPECT_NE(query("SELECT count(*) FROM processes WHERE argv IS NOT NULL"), "0;");
}

TEST_F(TraceTables, KnowTheParentsOfProcessesThatAreOlderThanTheTrace) {
  TraceSpec trace = family();
  trace.names = {task_of_parent(8, 1, "shell", 7), task_name(9, 1, 8, "worker", 7),
                 task_of_parent(20, 1100, "child", 1, 1090)};
  open_other(trace);
  EXPECT_EQ(query("SELECT pid, comm, parent_pid FROM processes"), "8|shell|7;20|child|8;")
      << "8 has forked 20, and 1 has adopted it";
}

TEST_F(TraceTables, KnowTheContainersOfTasksAndTheirMoves) {
  open_other(moved());
  const std::string group =
      fmt::format("{}|{}|1b2c3d4e-0000-1111-2222-333344445555;", kPodPath, kContainer);
  EXPECT_EQ(query("SELECT tid, cgroup, container, pod FROM threads"),
            "30|" + group + "31|/system.slice||;32|" + group);
  EXPECT_EQ(query("SELECT pid, cgroup, container, pod FROM processes"),
            "30|" + group + "31|/system.slice||;");
  EXPECT_EQ(
      query("SELECT ts, tid, pid, comm, from_cgroup, cgroup, container, pod FROM cgroup_moves"),
      "1700|30|30|web|/system.slice|" + group);
  EXPECT_EQ(query("SELECT tid, cgroup_id FROM threads"), "30|6;31|5;32|6;");
  EXPECT_EQ(query("SELECT pid, cgroup_id FROM processes"), "30|6;31|5;");
  EXPECT_EQ(query("SELECT from_cgroup_id, cgroup_id FROM cgroup_moves"), "5|6;");
  EXPECT_EQ(query("SELECT count(wall) FROM cgroup_moves WHERE ts > 1700"), "0;");
  EXPECT_EQ(query("SELECT pid FROM processes WHERE container LIKE '0123%'"), "30;");
}

TEST_F(TraceTables, KnowTheIdOfAControlGroupWithoutAPath) {
  TraceSpec trace = spec();
  trace.names = {task_in_cgroup(30, 1, 30, 5, "web"),   task_in_cgroup(31, 1, 30, 7, "thread"),
                 task_in_cgroup(40, 1, 40, 7, "known"), task_in_cgroup(40, 1700, 40, 8, "known"),
                 task_name(50, 1, 50, "old"),           cgroup_path(7, "/a")};
  open_other(trace);
  EXPECT_EQ(query("SELECT tid, cgroup, cgroup_id FROM threads"), "30||5;31|/a|7;40|/a|7;50||;");
  EXPECT_EQ(query("SELECT pid, cgroup, cgroup_id FROM processes"), "30|/a|7;40|/a|7;50||;")
      << "of the group with a path, as the path itself";
}

TEST_F(TraceTables, FindThreadsById) {
  EXPECT_EQ(query("SELECT tid FROM threads WHERE tid = 9"), "9;");
  EXPECT_EQ(query("SELECT tid FROM threads WHERE tid IN (9, 8, 7)"), "8;9;");
  EXPECT_EQ(query("SELECT tid FROM threads WHERE tid = 7"), "");
  EXPECT_EQ(query("SELECT e.ts, t.comm FROM sys_exit e JOIN threads t ON t.tid = e.tid"),
            "1500|eight;3400|eight;");
}

TEST_F(TraceTables, ListLosses) {
  EXPECT_EQ(query("SELECT ts, cpu, event, count FROM losses"), "1200|1|task_rename|5;");
  EXPECT_EQ(query("SELECT ts FROM losses WHERE cpu = 0"), "");
}

TEST_F(TraceTables, ListConfigChanges) {
  EXPECT_EQ(query("SELECT ts, running, events, syscalls, filter FROM config_changes"),
            "1000|1|||;");
  TraceSpec changed = spec();
  const auto path = directory_.path() / "changed";
  auto writer = begin_trace(path, changed);
  Manifest manifest = manifest_of(*writer, changed);
  const nlohmann::json filter = {{"pid", {8}}};
  manifest.config = {
      {"events", {"kfree", "kmalloc"}}, {"filter", filter}, {"changes", nlohmann::json::array()}};
  manifest.config["changes"].push_back(
      {{"ns", 2000}, {"config", {{"events", {"kfree"}}, {"state", "paused"}}}});
  check(writer->finish(manifest, changed.symbols));
  open(std::vector<std::filesystem::path>{path});
  EXPECT_EQ(query("SELECT ts, running, events, syscalls, filter FROM config_changes"),
            "1000|1|kfree,kmalloc||{\"pid\":[8]};2000|0|kfree||;");
  set_window({.begin_ns = 1500, .end_ns = 1999});
  EXPECT_EQ(query("SELECT ts FROM config_changes"), "1000;") << "so it was in the window";
  set_window({.begin_ns = 2000, .end_ns = 3000});
  EXPECT_EQ(query("SELECT ts FROM config_changes"), "2000;");
}

TEST_F(TraceTables, ListNoConfigFromBeforeTheTrace) {
  TraceSpec changed = spec();
  const auto path = directory_.path() / "changed";
  auto writer = begin_trace(path, changed);
  Manifest manifest = manifest_of(*writer, changed);
  manifest.config = {{"events", {"kfree"}}, {"changes", nlohmann::json::array()}};
  for (const auto& [ns, event] : {std::pair{500, "kmalloc"}, {700, "exec"}, {2000, "kfree"}}) {
    const nlohmann::json later = {{"events", {event}}, {"state", "running"}};
    manifest.config["changes"].push_back({{"ns", ns}, {"config", later}});
  }
  check(writer->finish(manifest, changed.symbols));
  open(std::vector<std::filesystem::path>{path});
  EXPECT_EQ(query("SELECT ts, events FROM config_changes"), "1000|exec;2000|kfree;");
}

TEST_F(TraceTables, ReadSeveralTracesAsOneHistory) {
  const auto later = directory_.path() / "later";
  TraceSpec second = spec();
  second.packets = {{.cpu = 0, .records = {enter(5000, 8)}}};
  second.begin_ns = 5000;
  second.end_ns = 6000;
  write_trace(later, second);
  open(std::vector<std::filesystem::path>{later, directory_.path() / "trace"});
  EXPECT_EQ(query("SELECT ts FROM sys_enter"), "1000;3000;5000;");
  EXPECT_EQ(query("SELECT count(*) FROM threads"), "2;");
  EXPECT_EQ(query("SELECT ts, outcome FROM calls WHERE ts = 5000"), "5000|trace_end;");
  EXPECT_EQ(query("SELECT a.ts, b.ts FROM sys_enter a JOIN sys_enter b ON b.ts > a.ts"),
            "1000|3000;1000|5000;3000|5000;");
}

TEST_F(TraceTables, KnowTheWallClockOfEachTrace) {
  TraceSpec second = spec();
  second.packets = {{.cpu = 0, .records = {enter(5000, 8), leave(5100, 8, 0)}}};
  second.begin_ns = 5000;
  second.end_ns = 6000;
  second.origin.clock_offset_ns += 1'000'000'000;
  write_trace(directory_.path() / "later", second);
  open(
      std::vector<std::filesystem::path>{directory_.path() / "trace", directory_.path() / "later"});
  EXPECT_EQ(query("SELECT ts, wall FROM calls WHERE ts >= 3000"),
            "3000|2023-11-14T22:13:20.123459789Z;5000|2023-11-14T22:13:21.123461789Z;");
  EXPECT_EQ(query("SELECT ts FROM calls WHERE wall > '2023-11-14T22:13:21'"), "5000;");
  EXPECT_EQ(query("SELECT ts FROM calls WHERE wall < '2023-11-14T22:13:21'"), "1000;3000;");
  EXPECT_EQ(query("SELECT ts FROM sys_enter WHERE wall > '2023-11-14T22:13:21'"), "5000;");
  EXPECT_EQ(query("SELECT ts FROM sys_enter WHERE wall < '2023-11-14T22:13:21'"), "1000;3000;");
}

}  // namespace
}  // namespace ktraced::test
