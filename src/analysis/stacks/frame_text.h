// SPDX-License-Identifier: BSD-2-Clause
// What is shown of the frame of a stack.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/metadata/stack_table.h"

namespace ktraced {

// Where a frame is.
struct FramePlace {
  StackKind kind = StackKind::kernel;
  uint64_t address = 0;
  bool is_return = true;  // the instruction before `address` is a call
  uint32_t pid = 0;       // of a user stack: its process; 0: unknown
  uint64_t ts = 0;        // a time at which that process had the frame, ns, CLOCK_BOOTTIME
};

// The texts of a trace and of files: make them printable() to show them.
struct FrameText {
  std::string function;
  std::string module;  // the file or kernel module of the function; empty: the kernel, or unknown
  auto operator<=>(const FrameText&) const = default;
};

// Names a frame: functions that were inlined into another one, from the inside out, and that one.
// At least one; an address without a name has a text too.
using FrameNamer = std::function<std::vector<FrameText>(const FramePlace&)>;

// Is this a function of tracing, which a kernel stack may begin with?
[[nodiscard]] bool is_tracing_function(std::string_view function);

}  // namespace ktraced
