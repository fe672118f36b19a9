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
class StackNames {
 public:
  // `table` must outlive this.
  StackNames(const StackTable& table, FrameNamer namer) : table_(table), namer_(std::move(namer)) {}

  // The functions of both stacks, the innermost first: of the kernel without those of tracing, then
  // of the process. A stack that does not reach its start ends with a text in brackets that says
  // why. `ts`: when the thread was there.
  [[nodiscard]] std::vector<uint32_t> frames_of(const StackPlace& at, uint64_t ts);
  [[nodiscard]] const FrameText& text(uint32_t number) const { return *texts_[number]; }
  [[nodiscard]] uint32_t number_of(const FrameText& text);

 private:
  using Address = std::tuple<uint32_t, uint64_t, uint64_t>;  // process, its program, address

  void append_kernel(const StackPlace& at, uint64_t ts, std::vector<uint32_t>& frames);
  void append_user(const StackPlace& at, uint64_t ts, std::vector<uint32_t>& frames);
  void append_end(const Stack* stack, std::vector<uint32_t>& frames);
  std::span<const uint32_t> functions_at(const Address& where, const FramePlace& place);

  const StackTable& table_;
  FrameNamer namer_;
  std::map<FrameText, uint32_t> numbers_;
  std::vector<const FrameText*> texts_;  // the keys of numbers_
  std::map<Address, std::vector<uint32_t>> functions_;
};

}  // namespace ktraced
