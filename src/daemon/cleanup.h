// SPDX-License-Identifier: BSD-2-Clause
// Removes what a killed daemon has left behind.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config/config.h"

namespace ktraced {

// Removes everything except history on disk: objects pinned in the kernel, a stale socket, and
// traces whose removal had begun. Returns a sentence for each action and for each unfinished trace
// that stays. Run by root, makes the process the user of the service before it touches
// directories of that user, see become_service_user(); so call it before other threads exist. Fails
// with ExitCode::unavailable if a daemon is running.
[[nodiscard]] Result<std::vector<std::string>> clean_up(const Config& config);

}  // namespace ktraced
