// SPDX-License-Identifier: BSD-2-Clause
// GFP flag names from the format file of the kmalloc trace event.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "kernel/tracepoints/c_expression.h"
#include "schema/schema.h"

namespace ktraced {

// Reads the table of __print_flags(REC->gfp_flags, …) in `format`, the text of
// events/kmem/kmalloc/format in tracefs. Some kernels from 6.9 on leave names of enum
// constants in it. Fails with ExitCode::data.
[[nodiscard]] Result<std::vector<FlagName>> gfp_flags_from_format(std::string_view format,
                                                                  const Constants& constants);

}  // namespace ktraced
