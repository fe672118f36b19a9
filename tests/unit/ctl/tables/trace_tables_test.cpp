// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/trace_tables.h"

#include "unit/ctl/query/query_fixture.h"

namespace ktraced::test {
namespace {

class TraceTables : public QueryTest {
 protected:
  void SetUp() override { open(spec()); }
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

}  // namespace
}  // namespace ktraced::test
