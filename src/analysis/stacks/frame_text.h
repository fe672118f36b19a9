// SPDX-License-Identifier: BSD-2-Clause
// What is shown of the frame of a stack.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/metadata/mapped_file.h"

namespace ktraced {

struct JitFunction;

// The code at a frame: what its name depends on.
struct FrameCode {
  // Code of a process is of a file, of the kernel's own page in it, or of anonymous memory, where
  // programs are compiled at run time; or `nowhere`: the trace has no mapping of that address.
  enum class Kind : uint8_t { kernel, file, vdso, anonymous, nowhere };
  Kind kind = Kind::kernel;
  bool is_return = true;             // the instruction before it is a call
  uint64_t at = 0;                   // its address; of a file: its offset there; of others 0
  const MappedFile* file = nullptr;  // of Kind::file; null: the trace does not have it
  const JitFunction* jit = nullptr;  // of Kind::anonymous; null: the trace does not name it

  // The byte that is asked for: of a return address, one of the call before it.
  [[nodiscard]] uint64_t byte() const { return at - (is_return && at != 0 ? 1 : 0); }
  auto operator<=>(const FrameCode&) const = default;
};

// The texts of a trace and of files: make them printable() to show them.
struct FrameText {
  std::string function;
  std::string module;  // of the function: a kernel module, the name of a file without its
                       // directory, or "jit" of code that was made at run time; empty: the
                       // kernel, or unknown
  const MappedFile* file = nullptr;  // of code of a process; null: of no file, or unknown
  std::string source = {};           // with lines: path of the source; empty: unknown
  uint32_t line = 0;                 // there
  bool inlined = false;              // into the function that follows
  bool is_named = true;              // false: `function` says why it has no name
  bool is_function = true;           // false: `function` says why the stack has no more frames

  auto operator<=>(const FrameText&) const = default;
};

// Names a frame: functions that were inlined into another one, from the inside out, and that one.
// At least one; code without a name has a text too.
using FrameNamer = std::function<std::vector<FrameText>(const FrameCode&)>;

// "parse [libjson.so.5]"; "next_token (inlined) [libjson.so.5] at parser.c:12".
[[nodiscard]] std::string label_of(const FrameText& text);

// Is this a function of tracing, which the kernel stack of an event may begin with?
[[nodiscard]] bool is_tracing_function(std::string_view function);

// Is this where the kernel is entered by an interrupt or a fault? In a stack of the kernel it is
// followed by the instruction that was interrupted, which is no return address.
[[nodiscard]] bool is_interrupt_entry(std::string_view function);

// Is this a function with which a thread or program begins, so that nothing has called it? The
// innermost function of a stack may as well be that of the thread which starts another one.
[[nodiscard]] bool is_start_function(std::string_view function, bool is_innermost = false);

}  // namespace ktraced
