// SPDX-License-Identifier: BSD-2-Clause
// How much memory the control groups of this process leave.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/error.h"

namespace ktraced {

// What the memory limit of a control group leaves.
struct MemoryRoom {
  std::filesystem::path group;  // its directory
  uint64_t limit = 0;           // in bytes
  uint64_t left = 0;            // in bytes; what the kernel can reclaim does not count as used
};

// Of this process's control group and its ancestors the one that leaves least; nothing if none has
// a limit that can be read. Knows both versions of control groups.
[[nodiscard]] std::optional<MemoryRoom> memory_room();
// Of the control group `group` and its ancestors below the mount point `mount_point`.
[[nodiscard]] std::optional<MemoryRoom> memory_room(const std::filesystem::path& mount_point,
                                                    const std::filesystem::path& group);

// Both fail with a clause that names the limit and the way to raise it. A map beyond the limit is
// refused by the kernel; but a process that makes pages of an arena beyond it is ended.
//
// Fails with ExitCode::unavailable if `bytes`, and some more for the work of the daemon itself,
// exceed the whole limit: a later start would fail too.
[[nodiscard]] Result<> check_memory_limit(const std::optional<MemoryRoom>& room, uint64_t bytes);
// Fails also, with ExitCode::os, if they exceed what is left now: other processes may use it.
[[nodiscard]] Result<> check_memory_room(const std::optional<MemoryRoom>& room, uint64_t bytes);

}  // namespace ktraced
