// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/event_tables.h"

#include "ctl/tables/event_scan.h"
#include "unit/ctl/query/query_fixture.h"
#include "unit/support/sample_record.h"
#include "unit/support/stacked_trace.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

class EventTables : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }
};

TEST_F(EventTables, HaveTypedFieldsAndTheirNames) {
  EXPECT_EQ(query("SELECT ts, wall, cpu, tid, pid, comm, nr, syscall, abi, abi_name, ret, error"
                  " FROM sys_exit"),
            "1500|2023-11-14T22:13:20.123458289Z|0|8|8|eight|257|openat|0||-2|ENOENT;"
            "3400|2023-11-14T22:13:20.123460189Z|0|8|8|eight|257|openat|0||3|;");
  EXPECT_EQ(query("SELECT args_0, args_2, args_5 FROM sys_enter LIMIT 1"), "1|3|0;");
  EXPECT_EQ(
      query("SELECT printf('%x', call_site), call_site_symbol, bytes_req FROM kmalloc LIMIT 1"),
      "ffffffff81000001|put_pid+0x1/0x2|300;");
  EXPECT_EQ(query("SELECT prev_state_name, next_comm FROM sched_switch WHERE prev_pid = 9"),
            "S|swapper/1;");
}

TEST_F(EventTables, HaveTheContextWhereItIsKnown) {
  TraceSpec trace = spec();
  trace.packets = {{.cpu = 0,
                    .records = {alloc(1000, 1), in_context(CONTEXT_TASK, alloc(1100, 2)),
                                in_context(CONTEXT_SOFTIRQ, alloc(1200, 3)),
                                in_context(CONTEXT_HARDIRQ, alloc(1300, 4))}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(trace);
  EXPECT_EQ(query("SELECT ts, context FROM kmalloc"), "1000|;1100|task;1200|softirq;1300|hardirq;");
  EXPECT_EQ(query("SELECT ts FROM events WHERE context <> 'task'"), "1200;1300;");
}

TEST_F(EventTables, GiveOtherNamesToFieldsLikeCommonColumns) {
  EXPECT_EQ(query("SELECT tid, comm, arg_pid FROM sched_wakeup"), "0|swapper/1|9;");
}

TEST_F(EventTables, MakeNamesOfUsersSafe) {
  EXPECT_EQ(query("SELECT DISTINCT comm FROM kfree"), "nine\\x1b[31m;");
  EXPECT_EQ(query("SELECT arg_comm FROM sched_wakeup"), "nine\\x1b[31m;");
}

TEST_F(EventTables, AreInTimeOrder) {
  EXPECT_EQ(query("SELECT ts, event FROM events"),
            "1000|sys_enter;1100|sched_switch;1200|kmalloc;1500|sys_exit;2500|sched_switch;"
            "2600|sched_wakeup;2700|sched_switch;2800|kfree;2900|kmalloc;3000|sys_enter;"
            "3400|sys_exit;");
  EXPECT_EQ(query("EXPLAIN QUERY PLAN SELECT ts FROM events ORDER BY ts").find("B-TREE"),
            std::string::npos);
}

TEST_F(EventTables, AreReadFromTheEndOn) {
  EXPECT_EQ(query("EXPLAIN QUERY PLAN SELECT ts FROM events ORDER BY ts DESC").find("B-TREE"),
            std::string::npos);
  EXPECT_EQ(query("SELECT ts, event FROM events ORDER BY ts DESC LIMIT 3"),
            "3400|sys_exit;3000|sys_enter;2900|kmalloc;");
  EXPECT_EQ(query("SELECT ts, comm FROM events WHERE ts < 2900 AND event = 'sched_switch' ORDER BY "
                  "ts DESC"),
            "2700|swapper/1;2500|nine\\x1b[31m;1100|swapper/1;");
  EXPECT_EQ(query("SELECT ts FROM kmalloc ORDER BY ts DESC"), "2900;1200;");
  EXPECT_EQ(query("SELECT DISTINCT ts FROM kmalloc ORDER BY ts DESC"), "2900;1200;");
  EXPECT_EQ(query("SELECT ts FROM kmalloc ORDER BY ts DESC, tid"), "2900;1200;");
}

TEST_F(EventTables, ShowArgumentsAsJson) {
  EXPECT_EQ(query("SELECT json_extract(args, '$.ret') FROM events WHERE event = 'sys_exit'"),
            "-2;3;");
}

TEST_F(EventTables, HaveEveryEventOfTheSchema) {
  TraceSpec all = spec();
  PacketSpec packet{.cpu = 0};
  for (const auto& [event, record] : sample_records(all.schema, 8))
    packet.records.push_back(record);
  all.packets = {packet};
  all.begin_ns = 0;
  all.end_ns = kSampleTime + 1;
  std::filesystem::remove_all(directory_.path() / "trace");
  open(all);
  for (const Event& event : all.schema.events())
    EXPECT_THAT(query("SELECT * FROM \"" + event.name + "\""), HasSubstr("eight")) << event.name;
}

TEST_F(EventTables, LimitRowsByConditions) {
  const auto times = [&](const std::string& condition) {
    return query("SELECT ts FROM events WHERE " + condition);
  };
  EXPECT_EQ(times("ts < 1200"), "1000;1100;");
  EXPECT_EQ(times("ts BETWEEN 1200 AND 1500"), "1200;1500;");
  EXPECT_EQ(times("ts > 2899.5 AND ts <= 3e3"), "2900;3000;");
  EXPECT_EQ(times("ts > '3000'"), "3400;");
  EXPECT_EQ(times("ts = 1100.5"), "");
  EXPECT_EQ(times("ts > -5 AND ts < 1050"), "1000;");
  EXPECT_EQ(times("ts > NULL"), "");
  EXPECT_EQ(times("wall < '2023-11-14T22:13:20.123457989Z'"), "1000;1100;");
  EXPECT_EQ(times("wall BETWEEN '2023-11-14T22:13:20.123457989Z' AND "
                  "'2023-11-14T22:13:20.123458289Z'"),
            "1200;1500;");
  EXPECT_EQ(times("wall = '2023-11-14T22:13:20.123458289Z'"), "1500;");
  EXPECT_EQ(times("wall = '2023-11-14T22:13:20'"), "");
  EXPECT_EQ(times("wall >= '2023-11-14T22:13:20Z'"), "") << "as texts";
  EXPECT_EQ(times("wall > 'x'"), "");
  EXPECT_EQ(times("cpu = 0 AND ts > 2000"), "3000;3400;");
  EXPECT_EQ(times("cpu IN (0, 7) AND event = 'sys_exit'"), "1500;3400;");
  EXPECT_EQ(times("event IN ('kfree', 'sys_exit')"), "1500;2800;3400;");
  EXPECT_EQ(times("event = 'KFREE' COLLATE NOCASE"), "2800;");
  EXPECT_EQ(times("pid = 8 AND cpu = 1"), "1200;2500;2800;2900;");
  EXPECT_EQ(times("pid IN (8, 9) AND tid = 9"), "2500;2800;");
  EXPECT_EQ(times("tid = '9'"), "2500;2800;");
  EXPECT_EQ(times("tid = 4294967304"), "");
  EXPECT_EQ(times("tid = 9.0 AND tid != 8"), "2500;2800;");
  EXPECT_EQ(times("ts < 1050 OR (cpu = 0 AND ts > 3300) OR tid = 9"), "1000;2500;2800;3400;");
}

class EventScans : public EventTables {
 protected:
  // Rows, records taken, packets read.
  std::string read(const ScanLimits& limits, std::string_view event = "") {
    const std::atomic<bool> stop = false;
    EventScan scan(*history_, event, common_columns(), limits, stop);
    size_t rows = 0;
    while (scan.next()) ++rows;
    return fmt::format("{} {} {}", rows, scan.taken(), scan.packets());
  }
};

TEST_F(EventScans, ReadOnlyWhatIsAskedFor) {
  EXPECT_EQ(read({}), "11 11 4");
  EXPECT_EQ(read({}, "kmalloc"), "2 2 4");
  EXPECT_EQ(read({.cpus = {{0}}}), "4 4 2");     // the packets of one CPU
  EXPECT_EQ(read({.end_ns = 1199}), "2 2 2");    // not the second packets
  EXPECT_EQ(read({.begin_ns = 2900}), "3 3 2");  // not the first packets
  EXPECT_EQ(read({.begin_ns = 2, .end_ns = 1}), "0 0 0");
  EXPECT_EQ(read({.pids = {{8}}}, "sched_switch"), "1 1 4");
  EXPECT_EQ(read({.tids = std::vector<uint32_t>()}), "0 0 4");
  EXPECT_EQ(read({.events = {{"sys_exit"}}}), "2 2 4");
  EXPECT_EQ(read({.events = {{"no_event"}}}), "0 0 0");
}

TEST_F(EventScans, EndWhenTheyAreStopped) {
  const std::atomic<bool> stop = true;
  EventScan scan(*history_, "", common_columns(), {}, stop);
  EXPECT_FALSE(scan.next());
}

TEST_F(EventScans, GiveARecordTheSameRowidWhateverTheirLimits) {
  const std::string rowid = query("SELECT rowid FROM events WHERE ts = 2800");
  EXPECT_EQ(query("SELECT rowid FROM events WHERE tid = 9 AND event = 'kfree'"), rowid);
  EXPECT_EQ(query("SELECT rowid FROM kfree"), rowid);
  EXPECT_EQ(query("SELECT count(DISTINCT rowid) FROM events"), "11;");
}

class StackTables : public QueryTest {
 protected:
  void SetUp() override { open(stacked_trace()); }
};

TEST_F(StackTables, NumberTheStacksOfEvents) {
  EXPECT_EQ(query("SELECT printf('%x', kernel_stack), printf('%x', user_stack) FROM kmalloc"),
            "8000000000000002|8000000000000003;");
  EXPECT_EQ(query("SELECT event, kernel_stack IS NULL FROM events WHERE user_stack IS NOT NULL AND "
                  "event <> 'cpu_sample'"),
            "sched_switch|0;kmalloc|0;sys_enter|1;");
  EXPECT_EQ(query("SELECT kernel_stack, user_stack FROM sys_exit"), "|;");
}

TEST_F(StackTables, HaveSamplesWithTheModeByName) {
  EXPECT_EQ(query("SELECT tid, mode, kernel_stack IS NULL FROM samples"),
            "812|user|1;812|kernel|0;813|kernel|0;0|idle|0;57|kernel_thread|0;");
}

TEST_F(StackTables, HaveTheFramesOfStacks) {
  EXPECT_EQ(
      query("SELECT depth, symbol, module, kind, end FROM frames JOIN sched_switch ON stack = "
            "kernel_stack ORDER BY depth"),
      "0|schedule||kernel|start;1|do_nanosleep||kernel|start;");
  EXPECT_EQ(query("SELECT depth, address, symbol, kind, end FROM frames WHERE kind = 'user' ORDER "
                  "BY stack, depth"),
            "0|4198400||user|broken;1|4202496||user|broken;0|4198400||user|broken;");
  EXPECT_EQ(query("SELECT count(*) FROM samples JOIN frames ON stack = kernel_stack WHERE module = "
                  "'ext4'"),
            "4;");
}

TEST_F(StackTables, HaveTheFilesOfFramesByProcess) {
  const auto path = directory_.path() / "of_file";
  write_trace(path, stacked_trace_of_file("/nowhere/app", "0123", 0x2000));
  open(std::vector<std::filesystem::path>{path});
  EXPECT_EQ(query("SELECT depth, symbol, module, file, offset FROM frames f JOIN kmalloc k ON "
                  "f.stack = k.user_stack AND f.pid = k.pid ORDER BY depth"),
            "0||app|/nowhere/app|8192;1||app|/nowhere/app|12288;");
  EXPECT_EQ(query("SELECT DISTINCT kind, pid FROM frames ORDER BY kind"), "kernel|;user|812;");
}

TEST_F(EventTables, HaveNoStacksWhereTheTraceHasNone) {
  EXPECT_THAT(query("SELECT kernel_stack FROM events"), HasSubstr("SQL error"));
  EXPECT_THAT(query("SELECT * FROM frames"), HasSubstr("SQL error"));
}

}  // namespace
}  // namespace ktraced::test
