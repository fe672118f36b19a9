// SPDX-License-Identifier: BSD-2-Clause
// Rows that an analysis gives while it reads traces.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "ctl/input/selected_analysis.h"
#include "ctl/input/trace_input.h"
#include "ctl/selection/wall_clocks.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/stored_rows.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// Reads traces piece by piece. An analysis, or a sink of it, adds rows. Reads no further than rows
// can come whose times are within the limits, and begins with them where nothing before can change
// these rows.
class AnalysisScan : public BatchScan {
 public:
  // `begins_late`: may the records before the first one within the limits be left out?
  AnalysisScan(const TableInput& input, const std::vector<Column>& columns,
               const ScanLimits& limits, const std::atomic<bool>& stop, bool begins_late);
  AnalysisScan(const AnalysisScan&) = delete;
  AnalysisScan& operator=(const AnalysisScan&) = delete;
  ~AnalysisScan() override;

  // A row has the same id in every scan, although scans begin and end at different places.
  int64_t rowid() override { return row_hash(); }
  [[nodiscard]] uint64_t packets() const { return input_.packets(); }

 protected:
  [[nodiscard]] virtual Analysis& analysis() = 0;
  // Called after the last event.
  virtual void finish(TraceInput& input) = 0;
  // May a row come that began at `ns` or earlier?
  [[nodiscard]] virtual bool is_open(uint64_t ns) const = 0;

  // Does the selection by name leave out none of these?
  [[nodiscard]] bool has_all(std::span<const std::string> events) const;
  // A thread at a time, by the latest trace that knows it; null: unknown, or an idle task.
  [[nodiscard]] const TaskName* task_at(uint32_t tid, uint64_t ts) const;
  // Adds ts, end_ts, dur, wall.
  // The wall clock is that of the trace that has the beginning.
  void add_times(std::optional<uint64_t> begin, std::optional<uint64_t> end, bool known);
  // Adds tid, pid, comm.
  void add_task(uint32_t tid, uint64_t ts, std::optional<uint32_t> cpu);

 private:
  bool add_rows(StoredRows& rows) override;
  void begin();
  [[nodiscard]] bool is_past_limits();

  const History& history_;
  std::vector<ClockOffset> clocks_;  // of its traces
  std::span<Selection> selections_;
  SelectionUse* use_;
  uint64_t last_begin_ns_, last_end_ns_;  // of rows that are asked for
  TraceInput input_;
  std::optional<SourceSelector> selector_;
  std::optional<SelectedAnalysis> selected_;
  bool begun_ = false;
};

// May a scan of an interval table begin where its rows begin? Not with several traces, with
// --since or with --event: then what is known there depends on what came before.
[[nodiscard]] bool can_begin_late(const TableInput& input);
// May a scan begin where its rows begin (can_begin_late()), and has the trace no filter? With a
// filter, what is known of a run depends on what came before.
[[nodiscard]] bool can_begin_late_without_filter(const TableInput& input);

// A table of AnalysisScans.
template <class Scan>
class AnalysisTable : public QueryTable {
 public:
  // `uses`: its events, which live as long as the program. `needs`: see QueryTable::take_needs().
  // `rows_of`: those that make rows, for an estimate. What `input` refers to must outlive this.
  AnalysisTable(const TableInput& input, std::string name, std::string doc,
                std::vector<Column> columns, std::span<const std::string_view> uses,
                std::span<const std::string_view> needs, std::span<const std::string_view> rows_of)
      : QueryTable(std::move(name), std::move(doc)), input_(input), uses_(uses), needs_(needs) {
    columns_ = std::move(columns);
    for (const std::string_view event : rows_of) rows_ += records_in(input.history, event);
    records_ = records_in(input.history);
  }
  [[nodiscard]] uint64_t rows() const override { return rows_; }
  // A scan reads all records, and an analysis costs more than the records do.
  [[nodiscard]] uint64_t records() const override { return 2 * records_ + 1; }
  [[nodiscard]] std::string refusal() const override { return input_.refusal(name(), uses_); }
  [[nodiscard]] std::vector<std::string> take_needs() override {
    return {needs_.begin(), needs_.end()};
  }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& stop) const override {
    return std::make_unique<Scan>(input_, columns_, with_wall(limits, input_.history), stop);
  }

 private:
  TableInput input_;
  std::span<const std::string_view> uses_, needs_;
  uint64_t rows_ = 0, records_ = 0;
};

// The columns that AnalysisScan::add_times() and add_task() fill.
void add_time_columns(std::vector<Column>& columns, const char* begin, const char* end);
void add_task_columns(std::vector<Column>& columns);

}  // namespace ktraced
