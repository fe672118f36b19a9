// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>

#include "analysis/stacks/stack_names.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/stored_rows.h"
#include "ctl/tables/tables.h"
#include "decoders/text/frame_namer.h"

namespace ktraced {
namespace {

// By any of the traces; empty: unknown.
std::string_view symbol_at(uint64_t address, const History& history) {
  for (const TraceReader& trace : history.traces())
    if (const auto found = trace.symbols().find(address); found != trace.symbols().end())
      return found->second;
  return {};
}

// The first scan reads all stacks.
class FramesTable : public QueryTable {
 public:
  explicit FramesTable(const TableInput& input)
      : QueryTable("frames", "the functions of stacks, the innermost first"), input_(input) {
    columns_ = {
        {.name = "stack", .doc = "the number that kernel_stack or user_stack has"},
        {.name = "depth", .doc = "0: the innermost"},
        {.name = "address", .doc = "return address; of the innermost in a process its own"},
        {.name = "symbol", .is_text = true, .doc = "the function; NULL: unknown"},
        {.name = "module", .is_text = true, .doc = "its kernel module; NULL: none, unknown"},
        {.name = "kind", .is_text = true, .doc = "kernel or user"},
        {.name = "end",
         .is_text = true,
         .doc = "of the stack: start (it has all), depth, broken or unreadable"}};
    stored_ = StoredRows(columns_.size());
  }
  [[nodiscard]] uint64_t rows() const override { return records_in(input_.history, "stack") + 1; }
  [[nodiscard]] uint64_t records() const override { return records_in(input_.history) + 1; }
  [[nodiscard]] std::unique_ptr<RowScan> scan(const ScanLimits& /*limits*/,
                                              const std::atomic<bool>& stop) const override {
    if (!std::exchange(is_read_, true)) read(stop);
    return std::make_unique<SortedScan>(stored_, std::nullopt);
  }

 private:
  void read(const std::atomic<bool>& stop) const {
    TraceStacks stacks;
    is_read_ = stacks.read_all(input_.history, stop);
    if (!is_read_) return;
    std::map<uint64_t, const Stack*> sorted;
    stacks.table().for_each(
        [&](uint64_t number, const Stack& stack) { sorted.emplace(number, &stack); });
    StackNames names(stacks.table(), frame_namer([this](uint64_t address) {
                       return symbol_at(address, input_.history);
                     }));
    for (const auto& [number, stack] : sorted) {
      const bool in_kernel = stack->kind == StackKind::kernel;
      add(number, *stack,
          in_kernel ? names.kernel_frames({.kernel = number}, 0)
                    : names.user_frames({.user = number}, 0),
          names);
    }
  }
  void add(uint64_t number, const Stack& stack, const std::vector<StackNames::Frame>& frames,
           const StackNames& names) const {
    uint64_t depth = 0;
    for (const StackNames::Frame& frame : frames) {
      if (frame.address == 0) continue;
      const FrameText& text = names.text(frame.text);
      stored_.integer(number);
      stored_.integer(depth++);
      stored_.integer(frame.address);
      add_text(text.function.starts_with('[') ? std::string_view() : text.function);
      add_text(text.module);
      stored_.name(stack.kind == StackKind::kernel ? "kernel" : "user");
      stored_.name(name_of(stack.end));
    }
  }
  void add_text(std::string_view text) const {
    if (text.empty())
      stored_.null();
    else
      stored_.text(text);
  }

  TableInput input_;
  mutable bool is_read_ = false;
  mutable StoredRows stored_{1};
};

}  // namespace

std::unique_ptr<QueryTable> frames_table(const TableInput& input) {
  const bool any = std::ranges::any_of(
      input.history.traces(), [](const TraceReader& trace) { return trace.schema().stacks; });
  return any ? std::make_unique<FramesTable>(input) : nullptr;
}

}  // namespace ktraced
