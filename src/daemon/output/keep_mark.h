// SPDX-License-Identifier: BSD-2-Clause
// The mark of a snapshot that retention does not remove: an empty file in its directory.
#pragma once

#include <filesystem>
#include <optional>

#include "base/error.h"

namespace ktraced {

inline constexpr const char* kKeepMark = "kept";

// Does the trace have the mark? Only a regular file of root or of this process's user is one: other
// users can make directories that look like traces. Nothing if that cannot be determined, for
// example because no descriptor is left. Follows no symbolic link, not even `trace` itself.
[[nodiscard]] std::optional<bool> has_keep_mark(const std::filesystem::path& trace);

// Makes or removes the mark, and returns when that is on disk. Follows no symbolic link. Fails with
// ExitCode::data if `trace` is no directory, or if something else has the name of the mark; with
// no_permission if the mark belongs to another user or may not be changed; with io.
Result<> set_keep_mark(const std::filesystem::path& trace, bool kept);

}  // namespace ktraced
