// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/coverage/actor.h"
#include "analysis/stacks/stack_names.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/input/trace_texts.h"
#include "ctl/tables/event_tables.h"
#include "ctl/tables/stored_rows.h"
#include "ctl/tables/tables.h"
#include "decoders/symbols/frame_namer.h"

namespace ktraced {
namespace {

// By any of the traces; empty: unknown.
std::string_view symbol_at(uint64_t address, const History& history) {
  for (const TraceReader& trace : history.traces())
    if (const auto found = trace.symbols().find(address); found != trace.symbols().end())
      return found->second;
  return {};
}

// The stacks of traces, and which process had which of its own.
class UsedStacks : public TraceStacks {
 public:
  static constexpr size_t kMaxUses = 1'000'000;
  static constexpr size_t kPrograms = 4;  // of one process id with the same stack

  struct Use {
    StackPlace at;
    uint64_t ts = 0;  // of its first event
  };
  using Uses = std::map<std::pair<uint64_t, uint32_t>, std::vector<Use>>;  // by number and process

  explicit UsedStacks(const History& history) : history_(history) {}

  void on_record(const RecordOrigin& from, RecordView record) override {
    if (!record.has_stacks() || record.stacks().user == 0) return;
    const NameTable& names = history_.traces()[from.source].names();
    const StackPlace at = place_of(actor_of(record, names), record.stacks());
    if (at.pid == 0) return;
    const std::pair key(at.user, at.pid);
    if (uses_.size() >= kMaxUses && !uses_.contains(key)) return;
    std::vector<Use>& uses = uses_[key];
    const bool is_known = std::ranges::any_of(uses, [&at](const Use& use) {
      return use.at.start_ns == at.start_ns && use.at.program == at.program;
    });
    if (!is_known && uses.size() < kPrograms) uses.push_back({.at = at, .ts = record.ts()});
  }
  // Of at most kMaxUses processes and stacks.
  [[nodiscard]] const Uses& uses() const { return uses_; }

 private:
  const History& history_;
  Uses uses_;
};

// The first scan reads all stacks.
class FramesTable : public QueryTable {
 public:
  explicit FramesTable(const TableInput& input)
      : QueryTable("frames", "the functions of stacks, the innermost first"), input_(input) {
    columns_ = {
        {.name = "stack", .doc = "the number that kernel_stack or user_stack has"},
        {.name = "pid", .doc = "whose user stack it is; NULL: of the kernel, or unknown"},
        {.name = "depth", .doc = "0: the innermost"},
        {.name = "address", .doc = "return address; of the innermost in a process its own"},
        {.name = "symbol", .is_text = true, .doc = "the function; NULL: unknown"},
        {.name = "module",
         .is_text = true,
         .doc = "its kernel module, or the name of its file; NULL: none, unknown"},
        {.name = "file", .is_text = true, .doc = "path of its file; NULL: none, unknown"},
        {.name = "offset", .doc = "of the address in the file; NULL: no file"},
        {.name = "kind", .is_text = true, .doc = "kernel or user"},
        {.name = "end",
         .is_text = true,
         .doc = "of the stack: start (it has all), depth, broken or unreadable"},
        {.name = "source",
         .is_text = true,
         .doc = "with --lines: path of its source; NULL: unknown"},
        {.name = "line", .doc = "with --lines: there; NULL: unknown"},
        {.name = "inlined", .doc = "with --lines: 1: the compiler put it into the next function"}};
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
  using Frames = std::vector<StackNames::Frame>;

  void read(const std::atomic<bool>& stop) const {
    UsedStacks stacks(input_.history);
    is_read_ = stacks.read_all(input_.history, stop);
    if (!is_read_) return;
    FrameNames files(file_options(input_.frames));
    StackNames names(
        stacks, frame_namer([this](uint64_t address) { return symbol_at(address, input_.history); },
                            files));
    std::map<uint64_t, const Stack*> sorted;
    stacks.table().for_each(
        [&](uint64_t number, const Stack& stack) { sorted.emplace(number, &stack); });
    for (const auto& [number, stack] : sorted) {
      if (stack->kind == StackKind::kernel)
        add({.at = {.kernel = number}}, *stack, {names.kernel_frames({.kernel = number}, 0)},
            names);
      else
        add_user(number, *stack, stacks.uses(), names);
    }
    print_frame_caveats(files);
  }
  void add_user(uint64_t number, const Stack& stack, const UsedStacks::Uses& uses,
                StackNames& names) const {
    auto of_process = uses.lower_bound({number, 0});
    if (of_process == uses.end() || of_process->first.first != number) {
      const UsedStacks::Use unknown{.at = {.user = number}};
      return add(unknown, stack, {names.user_frames(unknown.at, 0)}, names);
    }
    for (; of_process != uses.end() && of_process->first.first == number; ++of_process) {
      std::vector<Frames> programs;
      for (const UsedStacks::Use& use : of_process->second)
        programs.push_back(names.user_frames(use.at, use.ts));
      add(of_process->second.front(), stack, programs, names);
    }
  }
  // `programs`: the frames as each program of the process has them; where they differ, it is not
  // known which one has called.
  void add(const UsedStacks::Use& use, const Stack& stack, const std::vector<Frames>& programs,
           StackNames& names) const {
    const bool in_kernel = stack.kind == StackKind::kernel;
    const StackEnd end = names.end_of(&stack, use.at, use.ts);
    const FrameText unknown{.function = {}, .module = {}, .is_named = false};
    const Frames& frames = programs.front();
    for (size_t depth = 0; depth < frames.size() && frames[depth].address != 0; ++depth) {
      const StackNames::Frame& frame = frames[depth];
      const bool is_known = std::ranges::all_of(programs, [&](const Frames& other) {
        return depth < other.size() && other[depth].code == frame.code;
      });
      stored_.integer(in_kernel ? use.at.kernel : use.at.user);
      stored_.integer(use.at.pid != 0 ? std::optional<uint64_t>(use.at.pid) : std::nullopt);
      stored_.integer(depth);
      stored_.integer(frame.address);
      const FrameText& text = is_known ? names.text(frame.text) : unknown;
      add_code(text, frame.code);
      stored_.name(in_kernel ? "kernel" : "user");
      stored_.name(name_of(end));
      add_line(text);
    }
  }
  // The columns from `symbol` to `offset`.
  void add_code(const FrameText& text, const FrameCode& code) const {
    add_text(text.is_named ? text.function : std::string_view());
    add_text(text.file != nullptr ? text.file->name() : text.module);
    add_text(text.file != nullptr ? text.file->path : std::string_view());
    stored_.integer(text.file != nullptr ? std::optional(code.at) : std::nullopt);
  }
  // The columns from `source` to `inlined`.
  void add_line(const FrameText& text) const {
    add_text(text.source);
    stored_.integer(text.line != 0 ? std::optional<uint64_t>(text.line) : std::nullopt);
    stored_.integer(input_.frames.lines ? std::optional<uint64_t>(text.inlined ? 1 : 0)
                                        : std::nullopt);
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
