// SPDX-License-Identifier: BSD-2-Clause
// Why a file of a trace cannot be opened, and what can be done about it.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace ktraced {

// Of the errno that opening `path` has ended with: ExitCode::data for a file that is missing,
// no_permission, naming the group whose members may, or io.
[[nodiscard]] Error unreadable(const std::filesystem::path& path, int error);

}  // namespace ktraced
