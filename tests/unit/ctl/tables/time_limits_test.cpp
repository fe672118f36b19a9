// SPDX-License-Identifier: BSD-2-Clause
// Conditions on the times of intervals: with them a scan reads less, and finds the same.
#include <random>

#include "ctl/tables/analysis_scan.h"
#include "unit/ctl/query/query_fixture.h"
#include "unit/support/call_string.h"
#include "unit/support/recorded.h"

namespace ktraced::test {
namespace {

constexpr const char* kIntervalTables[] = {"calls", "path_calls", "runs", "waits", "allocations"};

// Events of threads 10 to 15 on four CPUs in small packets, some of them lost.
class BusyTrace {
 public:
  explicit BusyTrace(unsigned seed) : random_(seed) {}

  TraceSpec spec() {
    for (int round = 0; round < 40; ++round)
      for (uint32_t cpu = 0; cpu < kCpus; ++cpu)
        if (upto(3) != 0) add_packet(cpu, static_cast<uint64_t>(round));
    // Written in the order of each CPU.
    return {.schema = built_schema(),
            .packets = std::move(packets_),
            .names = {task_name(10, 1, 10, "ten"), task_name(11, 1, 10, "eleven")},
            .begin_ns = 1000,
            .end_ns = 1000 + 41 * kRound};
  }

 private:
  static constexpr uint32_t kCpus = 4;
  static constexpr uint64_t kRound = 1000, kPath = 0x7000;
  static constexpr int32_t kOpen = 2;

  uint64_t upto(uint64_t end) { return random_() % end; }
  void add_packet(uint32_t cpu, uint64_t round) {
    PacketSpec packet{.cpu = cpu};
    if (upto(6) == 0) packet.lost.push_back({.count = 1, .event_id = lost_event()});
    uint64_t ts = 1000 + round * kRound + upto(kRound / 2) + cpu;
    if (!packet.lost.empty() && upto(3) == 0) {
      packet.begin = packet.end = ts;
      packets_.push_back(std::move(packet));
      return;
    }
    for (uint64_t i = 0, count = 1 + upto(6); i < count; ++i, ts += 4 * (1 + upto(20)))
      packet.records.push_back(record(ts, cpu));
    packets_.push_back(std::move(packet));
  }
  uint32_t lost_event() {
    constexpr uint32_t kEvents[] = {EVENT_sys_exit, EVENT_sched_switch, EVENT_kfree,
                                    EVENT_sched_wakeup};
    return kEvents[upto(4)];
  }
  // As the call began, or if it could not be read then, again as it returned.
  Bytes path(uint64_t ts, uint32_t tid) {
    const auto event = upto(4) == 0 ? EVENT_sys_exit_string : EVENT_sys_enter_string;
    const bool unreadable = event == EVENT_sys_enter_string && upto(2) == 0;
    return call_string(event, ts, tid,
                       {.pointer = kPath, .nr = kOpen, .unreadable = unreadable ? u8{1} : u8{0}},
                       unreadable ? "" : "/a");
  }
  Bytes record(uint64_t ts, uint32_t cpu) {
    const auto tid = static_cast<uint32_t>(10 + upto(6));
    const uint64_t ptr = 0x1000 * (1 + upto(20));
    switch (upto(8)) {
      case 0:
        return make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = kOpen, .args = {kPath}});
      case 1:
        return make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = kOpen});
      case 7:
        return path(ts, tid);
      case 2:
        return make_record(EVENT_kmalloc, ts, tid, rec_kmalloc{.ptr = ptr, .bytes_alloc = 64});
      case 3:
        return make_record(EVENT_kfree, ts, tid, rec_kfree{.ptr = ptr});
      case 4:
        return make_record(EVENT_sched_wakeup, ts, tid,
                           rec_sched_wakeup{.pid = static_cast<s32>(10 + upto(6))});
      case 5:
        return make_record(EVENT_sched_process_exec, ts, tid,
                           rec_sched_process_exec{.pid = static_cast<s32>(tid), .old_pid = 15});
      default: {
        const uint32_t prev = std::exchange(running_[cpu], static_cast<uint32_t>(upto(6)) + 10);
        return make_record(EVENT_sched_switch, ts, prev,
                           rec_sched_switch{.prev_pid = static_cast<s32>(prev),
                                            .prev_state = static_cast<u32>(upto(2)),
                                            .next_pid = static_cast<s32>(running_[cpu])});
      }
    }
  }

  std::mt19937 random_;
  std::array<uint32_t, kCpus> running_{};
  std::vector<PacketSpec> packets_;
};

class TimeLimits : public QueryTest {
 protected:
  // The rows with a condition that limits the scan, and, behind a '+', with one that does not.
  void expect_equal(const std::string& table, const std::string& where, const std::string& same) {
    const auto rows = [&](const std::string& condition) {
      return query("SELECT * FROM " + table + " WHERE " + condition + " ORDER BY ts, tid, cpu");
    };
    EXPECT_EQ(rows(where), rows(same)) << table << " WHERE " << where;
  }
  void expect_equal_parts(uint64_t begin, uint64_t end) {
    for (const std::string table : kIntervalTables) {
      const auto between = [&](const char* ts, const char* end_ts) {
        return fmt::format("{} >= {} AND {} <= {}", ts, begin, end_ts, end);
      };
      expect_equal(table, between("ts", "ts"), between("+ts", "+ts"));
      expect_equal(table, between("ts", "end_ts"), between("+ts", "+end_ts"));
      expect_equal(table, fmt::format("end_ts <= {}", end), fmt::format("+end_ts <= {}", end));
      expect_equal(table, fmt::format("ts < {} OR ts > {} OR tid = 11", begin, end),
                   fmt::format("+ts < {} OR +ts > {} OR +tid = 11", begin, end));
    }
  }
  void open_recorded(const char* name) {
    open(std::vector<std::filesystem::path>{kRecorded / name});
  }
};

TEST_F(TimeLimits, FindTheSameRowsOfRecordedTraces) {
  for (const char* name : {"6.12-whole", "7.3-filtered"}) {
    open_recorded(name);
    const TimeWindow all = history_->extent(0);
    const uint64_t third = (all.end_ns - all.begin_ns) / 3;
    expect_equal_parts(all.begin_ns + third, all.end_ns - third);
  }
}

TEST_F(TimeLimits, FindTheSameRowsWhereEventsAreLost) {
  for (unsigned seed = 1; seed <= 2; ++seed) {
    std::filesystem::remove_all(directory_.path() / "trace");
    open(BusyTrace(seed).spec());
    for (uint64_t begin = 1000; begin < 40000; begin += 7777)
      expect_equal_parts(begin, begin + 5000 * (begin % 3));
  }
}

TEST_F(TimeLimits, ReadNoFurtherThanNecessary) {
  TraceSpec trace = spec();
  trace.packets.clear();
  for (uint64_t i = 1; i <= 20; ++i)
    trace.packets.push_back({.cpu = 0,
                             .records = {enter(i * 1000, 8), leave(i * 1000 + 10, 8, 0),
                                         to(i * 1000 + 20, 0, 9), to(i * 1000 + 30, 9, 0)}});
  open(trace);
  const std::atomic<bool> stop = false;
  const auto packets = [&](const char* name, const ScanLimits& limits) {
    const auto tables = all_tables(*history_);
    const auto table =
        std::ranges::find_if(tables, [&](const auto& t) { return t->name() == name; });
    const auto scan = (*table)->scan(limits, stop);
    while (scan->next()) {
    }
    return dynamic_cast<AnalysisScan&>(*scan).packets();
  };
  EXPECT_EQ(packets("calls", {}), 20U);
  EXPECT_LE(packets("calls", {.begin_ns = 9000, .end_ns = 10000}), 4U);
  EXPECT_LE(packets("runs", {.begin_ns = 9000, .end_ns = 10000}), 4U);
  EXPECT_LE(packets("waits", {.end_ns = 3000}), 5U);
  EXPECT_LE(packets("calls", {.ended_ns = 3000}), 5U);
  EXPECT_LE(packets("allocations", {.begin_ns = 18500}), 2U);
  const auto wall = [](uint64_t ts) { return 1'700'000'000'123'456'789 + ts; };
  EXPECT_LE(packets("calls", {.begin_wall_ns = wall(9000), .end_wall_ns = wall(10000)}), 4U);
}

}  // namespace
}  // namespace ktraced::test
