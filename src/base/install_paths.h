// SPDX-License-Identifier: BSD-2-Clause
// Default paths, chosen when the build is configured (cmake/InstallPaths.cmake).
#pragma once

#include <string_view>

namespace ktraced {

extern const std::string_view kDefaultConfigFile;
extern const std::string_view kDefaultSocket;
extern const std::string_view kDefaultSnapshotDirectory;

}  // namespace ktraced
