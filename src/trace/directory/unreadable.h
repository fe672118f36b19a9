// SPDX-License-Identifier: BSD-2-Clause
// Why a file of a trace cannot be opened, and what the user can do about it.
#pragma once

#include <filesystem>

#include "base/error.h"

namespace ktraced {

// The error for an errno of opening `path`: ExitCode::data if the file is missing, no_permission,
// naming the group that has access, or io.
[[nodiscard]] Error unreadable(const std::filesystem::path& path, int error);

}  // namespace ktraced
