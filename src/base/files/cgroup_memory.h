// SPDX-License-Identifier: BSD-2-Clause
// The memory limits of the control groups of this process.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/cgroup_mount.h"

namespace ktraced {

// The memory limit of a control group.
struct MemoryLimit {
  std::filesystem::path group;  // its directory
  uint64_t limit = 0;           // in bytes
  uint64_t left = 0;            // in bytes; what the kernel can reclaim does not count as used
};

// Finds the memory limits of this process. Thread-safe.
class MemoryLimits {
 public:
  using Find = std::function<Result<CgroupMount>()>;

  // Each mount is looked for until it has been found.
  explicit MemoryLimits(Find version2 = cgroup2_mount, Find version1 = memory_cgroup_mount)
      : versions_{{{.controllers = "", .find = std::move(version2), .mount = {}},
                   {.controllers = "memory", .find = std::move(version1), .mount = {}}}} {}

  // The limits of the control group of this process and of all its ancestors, as far as they can
  // be read, in both versions of control groups.
  [[nodiscard]] std::vector<MemoryLimit> read();

 private:
  struct Version {
    std::string_view controllers;  // as in /proc/self/cgroup
    Find find;
    std::optional<CgroupMount> mount;  // once it has been found
  };

  std::mutex mutex_;
  std::array<Version, 2> versions_;
};

// The memory limits of this process, from the mounts of this machine. Thread-safe.
[[nodiscard]] std::vector<MemoryLimit> memory_limits();
// The limits of the control group `group` and its ancestors below the mount point `mount_point`.
[[nodiscard]] std::vector<MemoryLimit> memory_limits(const std::filesystem::path& mount_point,
                                                     const std::filesystem::path& group);

// Fails with ExitCode::unavailable if `bytes`, and some more for the work of the daemon itself,
// exceed the lowest of these limits: no later start would succeed. The error is a clause about
// several things that need the memory; it names the limit and the way to raise it.
[[nodiscard]] Result<> check_memory_limit(std::span<const MemoryLimit> limits, uint64_t bytes);
// Fails as check_memory_limit(), and with ExitCode::os if `bytes`, and some more for the work of
// the daemon itself, exceed what one of the limits leaves now: other processes may use it.
[[nodiscard]] Result<> check_memory_room(std::span<const MemoryLimit> limits, uint64_t bytes);

}  // namespace ktraced
