// SPDX-License-Identifier: BSD-2-Clause
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/files/cgroup_mount.h"
#include "kernel/filters/filters.h"

namespace ktraced {
namespace {

uint32_t depth(const std::filesystem::path& path) {
  return static_cast<uint32_t>(std::count_if(path.begin(), path.end(), [](const auto& part) {
    return !part.empty() && part != "/" && part != ".";
  }));
}

bool is_directory(const std::filesystem::path& path, struct stat& status) {
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// What a path may be below the mount point, the likeliest first: an absolute one is that of a
// directory below some mount of control groups, or a path within the hierarchy.
std::vector<std::filesystem::path> paths_below_mount(const CgroupMount& mount,
                                                     const std::filesystem::path& given) {
  if (const auto below = below_mount(mount, given)) return {below->lexically_normal()};
  std::vector<std::filesystem::path> paths;
  if (given.is_absolute())
    for (const CgroupMount& other : likely_cgroup_mounts())
      if (const auto below = below_mount(other, given)) paths.push_back(below->lexically_normal());
  paths.push_back(given.relative_path().lexically_normal());
  return paths;
}

}  // namespace

Result<cgroup_ref> find_cgroup(const std::string& path) {
  auto mount = cgroup2_mount();
  if (!mount)
    return fail(mount.error().code, "cannot filter by control group: {}", mount.error().message);
  const auto candidates = paths_below_mount(*mount, path);
  for (const std::filesystem::path& below : candidates) {
    if (std::ranges::any_of(below, [](const auto& part) { return part == ".."; }))
      return fail(ExitCode::usage, "control group '{}' leads out of the cgroup2 mount {}", path,
                  mount->point.string());
    struct stat status{};
    if (is_directory(mount->point / below, status))
      return cgroup_ref{
          .id = status.st_ino, .level = depth(mount->root) + depth(below), .reserved = 0};
  }
  return fail(ExitCode::usage, "there is no control group '{}': {} is not a directory", path,
              (mount->point / candidates.front()).string());
}

}  // namespace ktraced
