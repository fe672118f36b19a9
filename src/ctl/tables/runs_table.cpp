// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_tracker.h"
#include "ctl/tables/analysis_scan.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/interval_names.h"
#include "ctl/tables/tables.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr std::string_view kRunUses[] = {"sched_switch"};

class RunScan : public AnalysisScan, public RunSink {
 public:
  RunScan(const TableInput& input, const std::vector<Column>& columns, const ScanLimits& limits,
          const std::atomic<bool>& stop)
      : AnalysisScan(input, columns, limits, stop, can_begin_late_without_filter(input)) {
    runs_.add_sink(*this);
  }

  // A run that ends with a switch is added by on_switch(), which follows.
  void on_run(const RunInterval& interval) override {
    if (interval.then == Unknown::none)
      switched_ = interval;
    else
      add(interval, std::nullopt);
  }
  void on_switch(const Switch& what) override {
    if (switched_) add(*switched_, what.prev_state);
    switched_.reset();
  }

 private:
  void add(const RunInterval& run, std::optional<uint32_t> state) {
    if (!run.selected) return;
    const bool known = run.known && run.then != Unknown::trace_end;
    add_times(run.begin_ns, known ? std::optional(run.end_ns) : std::nullopt, run.known);
    rows().integer(run.cpu);
    add_task(run.tid, run.begin_ns, run.cpu);
    if (state && run.tid != 0)
      rows().text(task_state_letters(*state));
    else
      rows().null();
    rows().name(run.then == Unknown::none ? "switch" : name_of(run.then));
  }
  [[nodiscard]] bool is_open(uint64_t ns) const override { return runs_.is_open(ns); }
  [[nodiscard]] Analysis& analysis() override { return runs_; }
  void finish(TraceInput& input) override { runs_.finish(input.facts({}).end_ns); }

  RunTracker runs_;
  std::optional<RunInterval> switched_;
};

}  // namespace

std::unique_ptr<QueryTable> runs_table(const TableInput& input) {
  std::vector<Column> columns;
  add_time_columns(columns, "when the CPU switched to the thread", "when it stopped running");
  columns.push_back({.name = "cpu", .doc = "on which it ran", .limits = Limits::cpu});
  add_task_columns(columns);
  columns.push_back({.name = "state",
                     .is_text = true,
                     .doc = "its state then: R (preempted), S, D …; NULL for idle tasks"});
  columns.push_back({.name = "outcome",
                     .is_text = true,
                     .doc = "switch; or why it is not known what ran then: lost, trace_end …"});
  return std::make_unique<AnalysisTable<RunScan>>(input, "runs",
                                                  "what each CPU ran; thread 0 is idle",
                                                  std::move(columns), kRunUses, kRunUses, kRunUses);
}

}  // namespace ktraced
