// SPDX-License-Identifier: BSD-2-Clause
// Lists a directory that may change at any time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace ktraced {

// Calls `visit` for each entry. Fails with ExitCode::data if the directory is missing (also: its
// process has ended, or its control group was removed), with no_permission, or with io: it cannot
// be opened or read to its end.
[[nodiscard]] Result<> for_each_entry(
    const std::filesystem::path& directory,
    const std::function<void(const std::filesystem::directory_entry&)>& visit);

// Names of all entries of an open directory, of any kind. Fails as for_each_entry().
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory);

}  // namespace ktraced
