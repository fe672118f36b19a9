// SPDX-License-Identifier: BSD-2-Clause
// What a trace has of the stacks of its events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "analysis/analysis.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {

// Counts events with a stack, and the copies of each stack. A stack may come after the events that
// have it. Memory: 60 bytes for each of at most `max_stacks` different stacks.
class StackAccount : public Analysis {
 public:
  static constexpr size_t kMaxStacks = size_t{1} << 20;

  // Stacks of one kind.
  struct OfKind {
    uint64_t events = 0;     // selected ones that have such a stack
    uint64_t lacking = 0;    // those of them whose stack has no frames in the trace
    uint64_t others = 0;     // those of them with a stack that did not fit any more
    uint64_t different = 0;  // stacks with frames in the trace
    uint64_t written = 0;    // copies of these
  };

  explicit StackAccount(size_t max_stacks = kMaxStacks) : max_stacks_(max_stacks) {}

  void add_source(const Schema& /*schema*/, const NameTable& /*names*/) override {}
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& /*loss*/) override {}
  void on_stack(const RecordOrigin& from, RecordView record) override;

  // Is there an event whose stack has not come?
  [[nodiscard]] bool lacks_any() const;
  // `elsewhere`: stacks of the same boot that are not among the records, for example before the
  // window of a report.
  [[nodiscard]] OfKind of(StackKind kind, const StackTable& elsewhere) const;

 private:
  struct Stack {
    uint64_t events = 0;
    uint64_t written = 0;
    StackKind kind = StackKind::kernel;
  };
  Stack* find(uint64_t number, StackKind kind);
  void count_event(uint64_t number, StackKind kind);

  size_t max_stacks_;
  std::unordered_map<uint64_t, Stack> stacks_;  // by number
  uint64_t other_kernel_ = 0, other_user_ = 0;  // events beyond
};

}  // namespace ktraced
