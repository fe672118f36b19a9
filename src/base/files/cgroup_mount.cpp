// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_mount.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>

#include "base/files/lines.h"

namespace ktraced {

namespace {

// The first mount whose type, source and options `matches`: the end of its line in
// /proc/self/mountinfo (proc_pid_mountinfo(5)).
Result<CgroupMount> find_mount(const std::function<bool(std::string_view end)>& matches,
                               std::string_view what) {
  constexpr std::string_view kSeparator = " - ";
  std::optional<CgroupMount> mount;
  const auto read = for_each_line_of("/proc/self/mountinfo", [&](std::string_view line) {
    const size_t separator = line.find(kSeparator);
    if (mount || separator == std::string_view::npos ||
        !matches(line.substr(separator + kSeparator.size())))
      return;
    std::istringstream fields{std::string(line)};
    std::string id, parent, device, root, point;
    fields >> id >> parent >> device >> root >> point;
    mount = CgroupMount{root, point};
  });
  if (mount) return *mount;
  if (!read) return fail(ExitCode::os, "{}", read.error().message);
  return fail(ExitCode::usage, "no {} file system is mounted", what);
}

}  // namespace

Result<CgroupMount> cgroup2_mount() {
  return find_mount([](std::string_view end) { return end.starts_with("cgroup2 "); }, "cgroup2");
}

Result<CgroupMount> memory_cgroup_mount() {
  return find_mount(
      [](std::string_view end) {
        return end.starts_with("cgroup ") &&
               std::ranges::any_of(
                   std::views::split(end.substr(end.rfind(' ') + 1), ','),
                   [](const auto& option) { return std::string_view(option) == "memory"; });
      },
      "cgroup memory");
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
