// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a trace by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/stacks/frame_text.h"
#include "analysis/stacks/stack_sums.h"
#include "analysis/stacks/trace_stacks.h"

namespace ktraced {

// Numbers the texts of frames, and names the stacks by these numbers. Code is named once. Memory:
// about 200 bytes for each of kMaxTexts texts; more functions than that have one text.
class StackNames {
 public:
  static constexpr size_t kMaxTexts = 1'000'000;

  // `stacks` must outlive this, and get no more files.
  StackNames(const TraceStacks& stacks, FrameNamer namer)
      : stacks_(stacks), namer_(std::move(namer)) {}

  struct Frame {
    uint64_t address = 0;  // 0: there is none, the text says why the stack ends
    uint32_t text = 0;
    FrameCode code = {};
  };
  // The functions of a stack, the innermost first; of the kernel without those of tracing that have
  // taken it. The CPU was in those of a sample. Those of one address are inlined into the last one.
  // A stack that does not reach its start ends with a text in brackets that says why. `ts`: when
  // the thread was there.
  [[nodiscard]] std::vector<Frame> kernel_frames(const StackPlace& at, uint64_t ts);
  [[nodiscard]] std::vector<Frame> user_frames(const StackPlace& at, uint64_t ts);
  // Both, the kernel's first.
  [[nodiscard]] std::vector<Frame> frames(const StackPlace& at, uint64_t ts);
  [[nodiscard]] std::vector<uint32_t> texts_of(const StackPlace& at, uint64_t ts);
  // How this stack of `at` ends; `unreadable`, if it is null. That of a process is complete only if
  // its outermost function is one that nothing has called. Its frame pointer does not say that:
  // code without frame pointers leaves anything in the register, and also 0.
  [[nodiscard]] StackEnd end_of(const Stack* stack, const StackPlace& at, uint64_t ts);
  [[nodiscard]] const FrameText& text(uint32_t number) const { return *texts_[number]; }
  [[nodiscard]] uint32_t number_of(const FrameText& text);
  [[nodiscard]] const StackTable& table() const { return stacks_.table(); }

 private:
  [[nodiscard]] FrameCode code_of(const Stack& stack, size_t frame, const StackPlace& at,
                                  uint64_t ts) const;
  [[nodiscard]] bool reaches_start(const Stack& stack, const StackPlace& at, uint64_t ts);
  void append_end(const char* why, std::vector<Frame>& frames);
  std::span<const uint32_t> functions_at(const FrameCode& code);

  const TraceStacks& stacks_;
  FrameNamer namer_;
  std::map<FrameText, uint32_t> numbers_;
  std::vector<const FrameText*> texts_;  // the keys of numbers_
  std::map<FrameCode, std::vector<uint32_t>> functions_;
};

// How the stacks of the events end, as StackNames::end_of() has it: counted by `weight.count`.
struct StackEnds {
  StackCounts kernel, user;
  uint64_t none = 0;  // events without a user stack

  // Counts events that have these stacks, the first of them at `ts`.
  void add(const StackPlace& at, uint64_t ts, uint64_t events, StackNames& names);
  StackEnds& operator+=(const StackEnds& other);
};
[[nodiscard]] StackEnds ends_of(const std::vector<StackRow>& rows, StackNames& names);
// The stacks of the wakers that are known.
[[nodiscard]] StackEnds ends_of_wakers(const std::vector<StackRow>& rows, StackNames& names);

}  // namespace ktraced
