// SPDX-License-Identifier: BSD-2-Clause
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files/cgroup_mount.h"
#include "base/files/directory.h"
#include "kernel/filters/cgroups.h"
#include "kernel/filters/filters.h"

namespace ktraced {
namespace {

uint32_t depth(const std::filesystem::path& path) {
  return static_cast<uint32_t>(std::count_if(path.begin(), path.end(), [](const auto& part) {
    return !part.empty() && part != "/" && part != ".";
  }));
}

}  // namespace

Result<cgroup_ref> find_cgroup(const std::string& path) {
  auto mount = cgroup2_mount();
  if (!mount)
    return fail(mount.error().code, "cannot filter by control group: {}", mount.error().message);
  // An absolute path is either a directory under the mount or a path within the hierarchy.
  const std::filesystem::path given(path);
  const std::filesystem::path below =
      below_mount(*mount, given).value_or(given.relative_path()).lexically_normal();
  if (std::ranges::any_of(below, [](const auto& part) { return part == ".."; }))
    return fail(ExitCode::usage, "control group '{}' leads out of the cgroup2 mount {}", path,
                mount->point.string());

  struct stat status{};
  const std::filesystem::path directory = mount->point / below;
  if (::stat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return fail(ExitCode::usage, "there is no control group '{}': {} is not a directory", path,
                directory.string());
  return cgroup_ref{.id = status.st_ino, .level = depth(mount->root) + depth(below), .reserved = 0};
}

// A group that is removed meanwhile ends the walk below it only.
Result<> for_each_cgroup(const std::function<void(uint64_t id, const std::string& path)>& visit) {
  namespace fs = std::filesystem;
  auto mount = cgroup2_mount();
  if (!mount) return propagate(mount);
  std::vector<fs::path> pending = {mount->point};
  while (!pending.empty()) {
    const fs::path directory = std::move(pending.back());
    pending.pop_back();
    struct stat status{};
    if (::stat(directory.c_str(), &status) != 0) continue;
    const fs::path below = directory.lexically_relative(mount->point);
    visit(status.st_ino, (below == "." ? mount->root : mount->root / below).string());
    static_cast<void>(for_each_entry(directory, [&](const fs::directory_entry& entry) {
      std::error_code ignored;
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        pending.push_back(entry.path());
    }));
  }
  return {};
}

}  // namespace ktraced
