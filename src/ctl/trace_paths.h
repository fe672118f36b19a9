// SPDX-License-Identifier: BSD-2-Clause
// Which trace directories the words of a command mean.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace ktraced {

// A word is a path, or the name of a snapshot in `store`; if that is empty, and nothing has this
// path, in the directory of the daemon that listens at `socket`. Fails with ExitCode::data if there
// is neither.
[[nodiscard]] Result<std::vector<std::string>> trace_paths(const std::vector<std::string>& words,
                                                           const std::string& store,
                                                           const std::string& socket);

}  // namespace ktraced
