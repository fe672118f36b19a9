// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/tables.h"

#include "unit/ctl/query/query_fixture.h"
#include "unit/support/call_string.h"

namespace ktraced::test {
namespace {

class IntervalTables : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }
};

TEST_F(IntervalTables, PairSystemCalls) {
  EXPECT_EQ(
      query("SELECT ts, end_ts, dur, cpu, tid, pid, comm, syscall, ret, error, args_1, outcome,"
            " unknown FROM calls"),
      "1000|1500|500|0|8|8|eight|openat|-2|ENOENT|2|returned|;"
      "3000|3400|400|0|8|8|eight|openat|3||2|returned|;");
}

TEST_F(IntervalTables, SayWhichCallsAreNotWhole) {
  TraceSpec cut = spec();
  cut.packets = {{.cpu = 0, .records = {leave(1000, 8, 5), enter(1100, 9), enter(1200, 8)}},
                 {.cpu = 0,
                  .records = {leave(1300, 9, 0)},
                  .lost = {{.count = 1, .event_id = EVENT_sys_enter}}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(cut);
  EXPECT_EQ(query("SELECT ts, end_ts, dur, tid, ret, args_0, outcome, unknown FROM calls"),
            "|1000||8|5||returned|unseen;"
            "1100|1300||9|0|1|returned|lost;"
            "1200|||8||1|trace_end|lost;");
}

TEST_F(IntervalTables, HaveTheCallThatReturnsInsteadOfAnother) {
  constexpr int32_t kRead = 0;
  TraceSpec other = spec();
  other.packets = {{.cpu = 0, .records = {enter(1000, 8), leave(1100, 8, 7, kRead)}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(other);
  const char* all = "SELECT ts, end_ts, dur, syscall, ret, outcome, unknown FROM calls";
  EXPECT_EQ(query(all),
            "|1100||read|7|returned|unseen;"
            "1000|||openat||unseen|unseen;");
  select({.syscalls = {"read"}});
  EXPECT_EQ(query(all), "|1100||read|7|returned|unseen;");
}

// An argument of a call of enter(): its pointers are 1, 2 and 3.
Bytes path_of(uint64_t ts, int32_t nr, u32 arg, std::string_view text, bool unreadable = false) {
  return call_string(
      EVENT_sys_enter_string, ts, 8,
      {.pointer = arg + 1, .nr = nr, .arg = arg, .unreadable = unreadable ? u8{1} : u8{0}}, text);
}

TEST_F(IntervalTables, JoinCallsWithTheirPaths) {
  constexpr int32_t kOpenat = 257, kRename = 82, kUnlink = 87, kFstat = 5;
  TraceSpec files = spec();
  files.packets = {
      {.cpu = 0,
       .records = {enter(1000, 8), path_of(1001, kOpenat, 1, "a\x1b"), leave(1500, 8, 3),
                   enter(1600, 8, kFstat), leave(1700, 8, 0, kFstat)}},
      {.cpu = 0,
       .records = {enter(2000, 8, kRename), path_of(2001, kRename, 0, "/b"),
                   path_of(2002, kRename, 1, "c"), leave(2100, 8, -2, kRename),
                   path_of(2999, kUnlink, 0, "", true), enter(3000, 8, kUnlink),
                   leave(3100, 8, -14, kUnlink)}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(files);
  EXPECT_EQ(query("SELECT ts, end_ts, dur, cpu, tid, pid, comm, nr, syscall, abi FROM path_calls"),
            "1000|1500|500|0|8|8|eight|257|openat|0;"
            "2000|2100|100|0|8|8|eight|82|rename|0;2000|2100|100|0|8|8|eight|82|rename|0;"
            "3000|3100|100|0|8|8|eight|87|unlink|0;");
  EXPECT_EQ(query("SELECT ret, error, opened, path, role, relative_to, cut, unreadable, unknown"
                  " FROM path_calls"),
            "3||1|a\\x1b|path|fd 1|0|0|;"
            "-2|ENOENT|0|/b|old_path||0|0|;-2|ENOENT|0|c|new_path|cwd|0|0|;"
            "-14|EFAULT|0||path||0|1|;");
  EXPECT_EQ(query("SELECT path FROM path_calls WHERE tid = 8 AND cpu = 0 AND ts > 1000 AND "
                  "end_ts <= 2100 AND pid IN (8, 9)"),
            "/b;c;");
}

TEST_F(IntervalTables, SayWhichPathCallsAreNotWhole) {
  TraceSpec cut = spec();
  cut.packets = {{.cpu = 0, .records = {enter(1000, 8), path_of(1001, 257, 1, "/a")}},
                 {.cpu = 0,
                  .records = {leave(1300, 8, 4), enter(1400, 8), path_of(1401, 257, 1, "/b")},
                  .lost = {{.count = 1, .event_id = EVENT_sys_exit}}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(cut);
  EXPECT_EQ(query("SELECT ts, end_ts, dur, ret, opened, path, unknown FROM path_calls"),
            "1000|1300||||/a|lost;")
      << "a call that has not returned has no row";
}

TEST_F(IntervalTables, SayWhatEachCpuRan) {
  EXPECT_EQ(query("SELECT ts, end_ts, dur, cpu, tid, pid, comm, state, outcome FROM runs"),
            "1100|2500|1400|1|9|8|nine\\x1b[31m|S|switch;"
            "2500|2700|200|1|0|0|swapper/1||switch;"
            "2700|||1|9|8|nine\\x1b[31m||trace_end;");
}

TEST_F(IntervalTables, SayWhoWaits) {
  EXPECT_EQ(query("SELECT ts, end_ts, dur, cpu, tid, pid, reason FROM waits"),
            "2600|2700|100|1|9|8|woken;");
}

TEST_F(IntervalTables, FollowAllocations) {
  EXPECT_EQ(
      query("SELECT ts, end_ts, dur, cpu, tid, pid, comm, free_cpu, type, ptr, call_site_symbol,"
            " cache, bytes_req, bytes_alloc, gfp_flags_names, page_order, node, outcome"
            " FROM allocations"),
      "1200|2800|1600|1|8|8|eight|1|kmalloc|4096|put_pid+0x1/0x2||300|512|none||0|freed;"
      "2900|||1|8|8|eight||kmalloc|8192|put_pid+0x1/0x2||300|512|none||0|held;");
}

TEST_F(IntervalTables, SayWhichAllocationsHaveNoEnd) {
  TraceSpec odd = spec();
  odd.packets = {{.cpu = 0, .records = {alloc(1000, 0x1000), alloc(1100, 0x1000), alloc(1200, 0)}}};
  std::filesystem::remove_all(directory_.path() / "trace");
  open(odd);
  EXPECT_EQ(query("SELECT ts, dur, outcome FROM allocations ORDER BY ts"),
            "1000||unseen;1100||held;1200||failed;");
}

TEST_F(IntervalTables, AreLimitedByThreadAndCpu) {
  EXPECT_EQ(query("SELECT count(*) FROM runs WHERE tid = 9"), "2;");
  EXPECT_EQ(query("SELECT count(*) FROM runs WHERE cpu IN (0, 2)"), "0;");
  EXPECT_EQ(query("SELECT count(*) FROM runs WHERE pid = 8 AND cpu = 1"), "2;");
  EXPECT_EQ(query("SELECT tid, sum(dur) FROM runs GROUP BY tid ORDER BY tid DESC"),
            "9|1400;0|200;");
}

}  // namespace
}  // namespace ktraced::test
