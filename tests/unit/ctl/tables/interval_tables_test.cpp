// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/interval_tables.h"

#include "unit/ctl/query/query_fixture.h"

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
