// SPDX-License-Identifier: BSD-2-Clause
// The user that the service runs as.
#pragma once

#include <sys/types.h>

#include <filesystem>

#include "base/error.h"

namespace ktraced {

// Run by root, and if `path` is a directory of the user "ktraced" (links are not followed): makes
// the process that user for good. Of the service's capabilities it keeps CAP_DAC_READ_SEARCH only.
// So nothing that this user has prepared makes root do what the user may not do. Otherwise does
// nothing. Call it before other threads exist. Fails with ExitCode::os if the user cannot be
// changed.
[[nodiscard]] Result<> become_service_user(const std::filesystem::path& path);

// Makes the process this user and group for good, without other groups and with CAP_DAC_READ_SEARCH
// as its only capability. Fails with ExitCode::os.
[[nodiscard]] Result<> become_user(uid_t uid, gid_t gid);

}  // namespace ktraced
