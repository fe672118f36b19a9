// SPDX-License-Identifier: BSD-2-Clause
// The grammar of kernel probes: that of the kernel's own kprobe_events file.
//
//   p[:[GRP/][EVENT]] [MOD:]SYM[±offs]|MEMADDR [FETCHARGS]
//   r[MAXACTIVE][:[GRP/][EVENT]] [MOD:]SYM[+0] [FETCHARGS]
//   p[:[GRP/][EVENT]] [MOD:]SYM[+0]%return [FETCHARGS]
//   -:[GRP/][EVENT]
//
// Checks the syntax only, not whether symbols exist. docs/probes.md describes the grammar.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/probes/probe_definition.h"

namespace ktraced {

inline constexpr size_t kProbeLineMax = 4096;      // bytes
inline constexpr size_t kProbeArgumentsMax = 128;  // as in the kernel
inline constexpr size_t kProbeNameMax = 63;        // bytes of a group, event or field name

// An error and its position.
struct GrammarError {
  size_t column = 1;    // bytes from the beginning of the line, from 1
  std::string message;  // with the remedy
};

// One line that is neither empty nor a comment.
[[nodiscard]] std::expected<ProbeCommand, GrammarError> parse_probe_line(std::string_view line);

// Parses any number of lines. Ignores empty lines and comments, which start with a '#' at the
// beginning of a word. Fails with ExitCode::usage; the error names line and column, or only the
// column if there is one line.
[[nodiscard]] Result<std::vector<ProbeCommand>> parse_probes(std::string_view text);

// Index of an x86-64 register in the kernel's struct pt_regs: "r15" is 0.
[[nodiscard]] const std::vector<std::string_view>& register_names();

}  // namespace ktraced
