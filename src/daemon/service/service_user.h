// SPDX-License-Identifier: BSD-2-Clause
// The user that the service runs as.
#pragma once

#include <linux/capability.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace ktraced {

// Sets of capabilities, a bit for each.
// Enough to remove pinned objects: /sys/fs/bpf is closed to users.
inline constexpr uint64_t kCleanupCapabilities = 1ULL << CAP_DAC_READ_SEARCH;
// The capabilities that the unit ktraced.service has.
inline constexpr uint64_t kTracingCapabilities =
    kCleanupCapabilities | 1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_SYSLOG;

// Run by root, and if `path` or a directory above it is a directory of the user "ktraced" (links
// are not followed): makes the process that user for good, with those of `capabilities` that it
// has, and true. So nothing that this user has prepared makes root do what the user may not do.
// `group`: its group; nothing: the user's. Otherwise does nothing, and false. Call it before other
// threads exist. Fails with ExitCode::os if the user cannot be changed.
[[nodiscard]] Result<bool> become_service_user(const std::filesystem::path& path,
                                               uint64_t capabilities,
                                               std::optional<gid_t> group = std::nullopt);

// Makes the process this user and group for good, without other groups, and with those of
// `capabilities` that it has. Fails with ExitCode::os.
[[nodiscard]] Result<> become_user(uid_t uid, gid_t gid, uint64_t capabilities);

}  // namespace ktraced
