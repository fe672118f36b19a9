// SPDX-License-Identifier: BSD-2-Clause
// The stacks that events refer to by number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "trace/packet/packet.h"

namespace ktraced {

enum class StackKind : uint8_t { kernel = STACK_KERNEL, user = STACK_USER };

// Where the frames of a stack end; see enum stack_end. Whether that is the start of the thread,
// StackNames knows.
enum class StackEnd : uint8_t {
  start = STACK_START,
  depth = STACK_DEPTH,
  broken = STACK_BROKEN,
  unreadable = STACK_UNREADABLE,
};
// "start", "depth", "broken" or "unreadable".
[[nodiscard]] std::string_view name_of(StackEnd end);

struct Stack {
  StackKind kind = StackKind::kernel;
  StackEnd end = StackEnd::start;
  // Addresses, the innermost first: a return address, but the first one of a user stack is where
  // the thread is, and of a sampled one where the CPU is. A kernel stack that is not sampled may
  // begin with functions of tracing, which have taken it. 0: hidden from readers, and not known
  // where it would be.
  std::vector<uint64_t> frames;
  bool sampled = false;    // STACK_SAMPLED: of the kernel, from what a sample has interrupted
  bool ambiguous = false;  // another stack has the same number

  bool operator==(const Stack&) const = default;
};

// The stack in a record; nothing if the record is none, or is not as programs write it.
[[nodiscard]] std::optional<Stack> stack_of(RecordView record);

// Stacks by number. A number is that of the same frames all over a boot, on any CPU and at any
// time, so one table serves all traces of it, and a stack that an event lacks may come later. Whose
// functions the frames of a user stack are depends on the process and the time of the event.
class StackTable {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;

  // Keeps about `max_bytes` of the stacks that were added last. A stream has any stack again that
  // an event still refers to.
  explicit StackTable(size_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // Adds the stack in a record, and ignores other records.
  void add(RecordView record);
  // The stack with this number, valid until the next add(); null if it is not there.
  [[nodiscard]] const Stack* find(uint64_t number) const;
  // Calls `visit(number, stack)` for each, in no order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const Stacks* stacks : {&recent_, &before_})
      for (const auto& [number, stack] : *stacks) visit(number, stack);
  }
  // Numbers that two different stacks have: find() returns the first of them.
  [[nodiscard]] uint64_t ambiguous() const { return ambiguous_; }
  // Stacks that had to make room for others.
  [[nodiscard]] uint64_t evicted() const { return evicted_; }

 private:
  using Stacks = std::unordered_map<uint64_t, Stack>;
  Stacks::iterator insert(uint64_t number, Stack stack);

  size_t max_bytes_;
  Stacks recent_, before_;  // each stack is in one of them
  size_t recent_bytes_ = 0;
  uint64_t ambiguous_ = 0;
  uint64_t evicted_ = 0;
};

// How many events have which kind of stack: what of the stacks is known.
struct StackCounts {
  std::map<StackEnd, uint64_t> by_end;
  uint64_t lacking = 0;    // the frames are not in the trace
  uint64_t ambiguous = 0;  // part of those in by_end

  // Adds events with one stack, which is null if its frames are not known, and how it ends.
  void add(const Stack* stack, StackEnd end, uint64_t events = 1);
  StackCounts& operator+=(const StackCounts& other);
  // Events with a stack.
  [[nodiscard]] uint64_t total() const;
  // Those of them with all frames.
  [[nodiscard]] uint64_t complete() const;
};

}  // namespace ktraced
