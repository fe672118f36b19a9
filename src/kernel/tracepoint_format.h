// SPDX-License-Identifier: BSD-2-Clause
// What tracefs says of a tracepoint, as an event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "schema/schema.h"

namespace ktraced {

// A tracepoint as this project records it: struct record, then the kernel's record without its
// common fields, then the fields of variable length in their order.
struct TracepointFormat {
  uint64_t kernel_id = 0;      // number by which perf knows it; another after each boot
  Event event;                 // without id
  tracepoint_layout layout{};  // for the program that copies the record
};

// Reads the text of a format file of tracefs. Fails with ExitCode::unavailable for a tracepoint
// whose record cannot be copied: one that is too long, or in a form that is not known.
[[nodiscard]] Result<TracepointFormat> parse_tracepoint_format(std::string_view system,
                                                               std::string_view text);

}  // namespace ktraced
