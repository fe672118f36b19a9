// SPDX-License-Identifier: BSD-2-Clause
// Converts a tracepoint's format file in tracefs to an event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bpf/shared_state.h"
#include "schema/schema.h"

namespace ktraced {

// A tracepoint as ktraced records it: struct record, then the kernel's record without its common
// fields, then the fields of variable length in their order.
struct TracepointFormat {
  uint64_t kernel_id = 0;      // perf's number for it; changes with each boot
  Event event;                 // without id
  tracepoint_layout layout{};  // for the program that copies the record
};

// Reads the text of a format file of tracefs. Fails with ExitCode::unavailable if the record cannot
// be copied because it is too long or of an unknown form.
[[nodiscard]] Result<TracepointFormat> parse_tracepoint_format(std::string_view system,
                                                               std::string_view text);

}  // namespace ktraced
