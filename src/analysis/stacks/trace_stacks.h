// SPDX-License-Identifier: BSD-2-Clause
// Collects the stacks of a trace.
#pragma once

#include <atomic>

#include "analysis/analysis.h"
#include "trace/merge/history.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {

// Beside an analysis whose events have stacks, in a FanOut.
class TraceStacks : public Analysis {
 public:
  void add_source(const Schema& /*schema*/, const NameTable& /*names*/) override {}
  void on_record(const RecordOrigin& /*from*/, RecordView /*record*/) override {}
  void on_loss(const LossItem& /*loss*/) override {}
  void on_stack(const RecordOrigin& /*from*/, RecordView record) override { table_.add(record); }
  // Adds all stacks of the traces, whatever the window of `history` is: an event in its beginning
  // may have a stack that is before it, and one in the oldest part of a flight ring has its stack
  // in a later copy. False: `stop` has become true.
  bool read_all(const History& history, const std::atomic<bool>& stop);

  [[nodiscard]] const StackTable& table() const { return table_; }

 private:
  StackTable table_;
};

}  // namespace ktraced
