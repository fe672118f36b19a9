// SPDX-License-Identifier: BSD-2-Clause
// Where hierarchies of control groups are mounted, and the paths of control groups there.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"

namespace ktraced {

// A mount of a hierarchy of control groups, or of a part of it.
struct CgroupMount {
  std::filesystem::path root;   // mounted part of the hierarchy, "/" for all of it
  std::filesystem::path point;  // mount point
};

// The first cgroup v2 mount of this machine. Fails with ExitCode::usage if there is none, and with
// ExitCode::os if that cannot be read.
[[nodiscard]] Result<CgroupMount> cgroup2_mount();
// The first mount of the hierarchy of version 1 that has the memory controller. Fails with
// ExitCode::usage if there is none, and with ExitCode::os if that cannot be read.
[[nodiscard]] Result<CgroupMount> memory_cgroup_mount();

// The mounts that a path of a control group may be below, the likeliest first: those of this
// machine, of version 2 before those of version 1, then those of most machines. On a hybrid machine
// the groups that systemd makes have the same paths in the hierarchies of both versions.
[[nodiscard]] std::vector<CgroupMount> likely_cgroup_mounts();

// The part of `path` below the mount point, empty for the mount point itself: "x/y" of
// "/sys/fs/cgroup/x/y". Nothing if the path is not there.
[[nodiscard]] std::optional<std::filesystem::path> below_mount(const CgroupMount& mount,
                                                               const std::filesystem::path& path);

}  // namespace ktraced
