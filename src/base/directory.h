// SPDX-License-Identifier: BSD-2-Clause
// What lies in a directory that may change at any time.
#pragma once

#include <filesystem>
#include <functional>

namespace ktraced {

// Calls `visit` for each entry. Ends early, without an error, where the directory cannot be read
// (any more): what vanishes while we look was not there.
void for_each_entry(const std::filesystem::path& directory,
                    const std::function<void(const std::filesystem::directory_entry&)>& visit);

}  // namespace ktraced
