// SPDX-License-Identifier: BSD-2-Clause
// The memory limits of the control groups of this process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/error.h"

namespace ktraced {

// The memory limit of a control group.
struct MemoryLimit {
  std::filesystem::path group;  // its directory
  uint64_t limit = 0;           // in bytes
  uint64_t left = 0;            // in bytes; what the kernel can reclaim does not count as used
};

// The limits of this process's control group and of all its ancestors, as far as they can be read.
// Knows both versions of control groups. Reads the mounts of the machine at the first call only.
// Thread-safe.
[[nodiscard]] std::vector<MemoryLimit> memory_limits();
// The limits of the control group `group` and its ancestors below the mount point `mount_point`.
[[nodiscard]] std::vector<MemoryLimit> memory_limits(const std::filesystem::path& mount_point,
                                                     const std::filesystem::path& group);

// Fails with ExitCode::unavailable if `bytes`, and some more for the work of the daemon itself,
// exceed the lowest of these limits: no later start would succeed. The error of both functions is a
// clause about several things that need the memory; it names the limit and the way to raise it.
[[nodiscard]] Result<> check_memory_limit(std::span<const MemoryLimit> limits, uint64_t bytes);
// Fails also, with ExitCode::os, if they exceed what one of the limits leaves now: other processes
// may use it.
[[nodiscard]] Result<> check_memory_room(std::span<const MemoryLimit> limits, uint64_t bytes);

}  // namespace ktraced
