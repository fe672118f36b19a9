// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_mount.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "base/files/lines.h"

namespace ktraced {

// From /proc/self/mountinfo (proc_pid_mountinfo(5)).
Result<CgroupMount> cgroup2_mount() {
  std::optional<CgroupMount> mount;
  const auto read = for_each_line_of("/proc/self/mountinfo", [&](std::string_view line) {
    if (mount || line.find(" - cgroup2 ") == std::string_view::npos) return;
    std::istringstream fields{std::string(line)};
    std::string id, parent, device, root, point;
    fields >> id >> parent >> device >> root >> point;
    mount = CgroupMount{root, point};
  });
  if (mount) return *mount;
  if (!read) return fail(ExitCode::os, "{}", read.error().message);
  return fail(ExitCode::usage, "no cgroup2 file system is mounted");
}

std::optional<std::filesystem::path> below_mount(const CgroupMount& mount,
                                                 const std::filesystem::path& path) {
  auto [mismatch, rest] =
      std::mismatch(mount.point.begin(), mount.point.end(), path.begin(), path.end());
  if (mismatch != mount.point.end()) return std::nullopt;
  std::filesystem::path below;
  for (; rest != path.end(); ++rest) below /= *rest;
  return below;
}

}  // namespace ktraced
