// SPDX-License-Identifier: BSD-2-Clause
// Opens the traces that a command reads.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "trace/merge/history.h"

namespace ktraced {

// Each path is a trace directory or an archive of one. Fails as History::open() and unpack_trace().
[[nodiscard]] Result<History> open_history(const std::vector<std::string>& paths,
                                           bool allow_unfinished);

}  // namespace ktraced
