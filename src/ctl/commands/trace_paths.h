// SPDX-License-Identifier: BSD-2-Clause
// Resolves the arguments of a command to trace directories.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace ktraced {

// An argument is a path, or the name of a snapshot in `store`. If `store` is empty and the path
// does not exist, the snapshot directory of the daemon at `socket` is used. Fails with
// ExitCode::data if neither exists.
[[nodiscard]] Result<std::vector<std::string>> trace_paths(const std::vector<std::string>& words,
                                                           const std::string& store,
                                                           const std::string& socket);

}  // namespace ktraced
