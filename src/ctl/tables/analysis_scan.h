// SPDX-License-Identifier: BSD-2-Clause
// Rows that an analysis gives while it reads traces.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "ctl/input/trace_input.h"
#include "ctl/tables/stored_rows.h"

namespace ktraced {

// Reads traces piece by piece. An analysis, or a sink of it, adds rows.
class AnalysisScan : public BatchScan {
 public:
  AnalysisScan(const History& history, const std::vector<Column>& columns, ScanLimits limits,
               const std::atomic<bool>& stop)
      : BatchScan(columns, std::move(limits), stop), history_(history), input_(history.again()) {}

 protected:
  [[nodiscard]] virtual Analysis& analysis() = 0;
  // Called after the last event.
  virtual void finish(TraceInput& input) = 0;

  // A thread at a time, by the latest trace that knows it; null: unknown, or an idle task.
  [[nodiscard]] const TaskName* task_at(uint32_t tid, uint64_t ts) const;
  // Adds ts, end_ts, dur, wall.
  void add_times(std::optional<uint64_t> begin, std::optional<uint64_t> end, bool known);
  // Adds tid, pid, comm.
  void add_task(uint32_t tid, uint64_t ts, std::optional<uint32_t> cpu);

 private:
  bool add_rows(StoredRows& rows) override;

  const History& history_;
  TraceInput input_;
  bool begun_ = false;
};

// A table of AnalysisScans.
template <class Scan>
class AnalysisTable : public QueryTable {
 public:
  // `rows_of`: the events that make rows, for an estimate. `history` must outlive this.
  AnalysisTable(const History& history, std::string name, std::string doc,
                std::vector<Column> columns, uint64_t rows, uint64_t records)
      : QueryTable(std::move(name), std::move(doc)),
        history_(history),
        rows_(rows),
        records_(records) {
    columns_ = std::move(columns);
  }
  [[nodiscard]] uint64_t rows() const override { return rows_; }
  // A scan reads all records, and an analysis costs more than the records do.
  [[nodiscard]] uint64_t records() const override { return 2 * records_ + 1; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& limits,
                                              const std::atomic<bool>& stop) const override {
    return std::make_unique<Scan>(history_, columns_, limits, stop);
  }

 private:
  const History& history_;
  uint64_t rows_, records_;
};

// The columns that AnalysisScan::add_times() and add_task() fill.
void add_time_columns(std::vector<Column>& columns, const char* begin, const char* end);
void add_task_columns(std::vector<Column>& columns);

}  // namespace ktraced
