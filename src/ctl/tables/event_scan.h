// SPDX-License-Identifier: BSD-2-Clause
// Reads the rows of an event's table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/coverage/comm.h"
#include "ctl/input/trace_texts.h"
#include "ctl/query/query_table.h"
#include "ctl/tables/event_columns.h"
#include "ctl/tables/table_input.h"
#include "ctl/tables/wall_clock.h"
#include "decoders/json/json_decoder.h"
#include "decoders/text/field_text.h"
#include "trace/merge/history.h"

namespace ktraced {

// Takes the selected records of some events out of a history, in time order. Memory: those records
// that the history delivers at once, which are at most a packet of each CPU.
class EventScan : public RowScan, public MergeSink {
 public:
  // All events if `name` is empty. What the arguments refer to must outlive this.
  EventScan(const TableInput& input, std::string_view name, std::span<const EventColumn> columns,
            ScanLimits limits, const std::atomic<bool>& stop);

  bool next() override;
  Value value(size_t column) override;
  int64_t rowid() override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& /*loss*/) override {}

  [[nodiscard]] uint64_t packets() const { return history_.packets(); }
  // Records that were taken out of the history.
  [[nodiscard]] uint64_t taken() const { return taken_; }

 private:
  // What belongs to one trace.
  struct Source {
    explicit Source(const TraceReader& trace);

    const TraceReader& trace;
    std::unique_ptr<KeptSymbols> symbols;
    FieldText texts;
    JsonDecoder json;
    std::vector<std::unique_ptr<EventAccess>> events;  // by id; null: not of this table
  };
  struct Row {
    size_t offset = 0;  // in bytes_
    const EventAccess* access = nullptr;
    RecordOrigin from;
  };
  [[nodiscard]] bool matches(const RecordOrigin& from, RecordView record) const;
  bool read_batch();
  const TaskName* task();
  Value pid();
  Value comm();
  Value wall();
  Value args();
  Value field_value(const FieldAccess& access);
  Value number_value(const FieldAccess& access, uint64_t number);
  Value list_value(const FieldAccess& access);
  // Text of a trace, safe for a terminal.
  Value safe(std::string_view text);

  History history_;
  std::span<const Selection> selections_;
  SelectionUse* use_;
  ScanLimits limits_;
  const std::atomic<bool>& stop_;
  std::vector<std::unique_ptr<Source>> sources_;
  bool more_ = true;
  uint64_t taken_ = 0;
  std::vector<std::byte> bytes_;  // the records of rows_
  std::vector<Row> rows_;
  size_t next_ = 0;
  // The members from here on are of the current row.
  const Row* row_ = nullptr;
  RecordView record_;
  std::string words_;  // see shown_text()
  bool task_known_ = false;
  const TaskName* task_ = nullptr;
  CommScratch scratch_{};
  WallClock clock_;
  std::string text_;
  TextBuffer json_;
};

}  // namespace ktraced
