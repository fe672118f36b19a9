// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a trace by name.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/stacks/frame_text.h"
#include "analysis/stacks/stack_sums.h"
#include "trace/metadata/stack_table.h"

namespace ktraced {

// Numbers the texts of frames, and names the stacks by these numbers. Each address is named once.
// Memory: about 150 bytes for each of kMaxTexts texts; more functions than that have one text.
class StackNames {
 public:
  static constexpr size_t kMaxTexts = 1'000'000;

  // `table` must outlive this.
  StackNames(const StackTable& table, FrameNamer namer) : table_(table), namer_(std::move(namer)) {}

  struct Frame {
    uint64_t address = 0;  // 0: there is none, the text says why the stack ends
    uint32_t text = 0;
  };
  // The functions of a stack, the innermost first; of the kernel without those of tracing. Those of
  // one address are inlined into the last one. A stack that does not reach its start ends with a
  // text in brackets that says why. `ts`: when the thread was there.
  [[nodiscard]] std::vector<Frame> kernel_frames(const StackPlace& at, uint64_t ts);
  [[nodiscard]] std::vector<Frame> user_frames(const StackPlace& at, uint64_t ts);
  // The texts of both, the kernel's first.
  [[nodiscard]] std::vector<uint32_t> texts_of(const StackPlace& at, uint64_t ts);
  [[nodiscard]] const FrameText& text(uint32_t number) const { return *texts_[number]; }
  [[nodiscard]] uint32_t number_of(const FrameText& text);

 private:
  using Address = std::tuple<uint32_t, uint64_t, uint64_t>;  // process, its program, address

  void append_end(const Stack* stack, std::vector<Frame>& frames);
  std::span<const uint32_t> functions_at(const Address& where, const FramePlace& place);

  const StackTable& table_;
  FrameNamer namer_;
  std::map<FrameText, uint32_t> numbers_;
  std::vector<const FrameText*> texts_;  // the keys of numbers_
  std::map<Address, std::vector<uint32_t>> functions_;
};

}  // namespace ktraced
