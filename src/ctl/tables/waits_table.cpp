// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/sched_analysis.h"
#include "ctl/tables/analysis_scan.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/tables.h"

namespace ktraced {
namespace {

constexpr std::string_view kWaitUses[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new"};
constexpr std::string_view kWaitRows[] = {"sched_switch"};

class WaitScan : public AnalysisScan, public WaitSink {
 public:
  WaitScan(const TableInput& input, const std::vector<Column>& columns, const ScanLimits& limits,
           const std::atomic<bool>& stop)
      : AnalysisScan(input, columns, limits, stop, false) {
    sched_.add_sink(*this);
  }

  void on_wait(const WaitInterval& wait) override {
    if (wait.unknown != Unknown::none) return;
    add_times(wait.begin_ns, wait.end_ns, true);
    rows().integer(wait.cpu);
    add_task(wait.tid, wait.end_ns, wait.cpu);
    rows().name(wait.woken ? "woken" : "preempted");
  }

 private:
  [[nodiscard]] bool is_open(uint64_t ns) const override { return sched_.is_waiting(ns); }
  [[nodiscard]] Analysis& analysis() override { return sched_; }
  void finish(TraceInput& input) override { sched_.finish(input.facts({}).end_ns); }

  SchedAnalysis sched_{0, SchedAnalysis::kMaxWaiting, 0};
};

}  // namespace

std::unique_ptr<QueryTable> waits_table(const TableInput& input) {
  std::vector<Column> columns;
  add_time_columns(columns, "when the thread became runnable", "when it ran");
  columns.push_back({.name = "cpu", .doc = "on which it ran then", .limits = Limits::cpu});
  add_task_columns(columns);
  columns.push_back({.name = "reason", .is_text = true, .doc = "woken from sleep, or preempted"});
  return std::make_unique<AnalysisTable<WaitScan>>(
      input, "waits", "threads that were runnable and did not run", std::move(columns), kWaitUses,
      kWaitUses, kWaitRows);
}

}  // namespace ktraced
