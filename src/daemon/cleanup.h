// SPDX-License-Identifier: BSD-2-Clause
// What is left of a daemon that is gone.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config.h"

namespace ktraced {

// Removes everything but history that is on disk: what is pinned in the kernel, a dead socket,
// what of traces was being removed. Returns what was done, and which unfinished traces stay, a
// sentence each. Fails with ExitCode::unavailable if a daemon lives.
[[nodiscard]] Result<std::vector<std::string>> clean_up(const Config& config);

}  // namespace ktraced
