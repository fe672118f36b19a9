// SPDX-License-Identifier: BSD-2-Clause
// Collects the stacks of a trace, and what is known of the code that their frames are in.
#pragma once

#include <atomic>
#include <span>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "trace/merge/history.h"
#include "trace/metadata/jit_code.h"
#include "trace/metadata/mapping_table.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {

// Beside an analysis whose events have stacks, in a FanOut.
class TraceStacks : public Analysis {
 public:
  void add_source(const Schema& /*schema*/, const NameTable& /*names*/) override {}
  void on_record(const RecordOrigin& /*from*/, RecordView /*record*/) override {}
  void on_loss(const LossItem& /*loss*/) override {}
  void on_stack(const RecordOrigin& /*from*/, RecordView record) override { add(record); }
  // Adds the stack, mapping or file in a record.
  void add(RecordView record) {
    table_.add(record);
    mappings_.add(record);
  }
  // Adds what is known of a file beside the records.
  void add(MappedFile file) { mappings_.add(std::move(file)); }
  // Adds functions that processes had made.
  void add(std::span<const JitFunction> functions);
  // Adds what the traces have beside their records: files with build ids, and functions that
  // processes had made.
  void add_files(const History& history);
  // Adds all stacks and files of the traces, whatever the window of `history` is: an event in its
  // beginning may have a stack that is before it, and one in the oldest part of a flight ring has
  // its stack in a later copy. False: `stop` has become true.
  bool read_all(const History& history, const std::atomic<bool>& stop);

  [[nodiscard]] const StackTable& table() const { return table_; }
  [[nodiscard]] const MappingTable& mappings() const { return mappings_; }
  // See find_jit_function(). Valid until the next add().
  [[nodiscard]] const JitFunction* jit_function(const ProcessId& process, uint64_t address) const {
    return find_jit_function(jit_functions_, process, address);
  }

 private:
  StackTable table_;
  MappingTable mappings_;
  std::vector<JitFunction> jit_functions_;  // in the order of sort_jit_functions()
};

}  // namespace ktraced
