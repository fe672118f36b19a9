// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_mount.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/files/lines.h"

namespace ktraced {

namespace {

// The mounts whose type, source and options `matches`: the end of a line in /proc/self/mountinfo
// (proc_pid_mountinfo(5)). Fails with ExitCode::os if none was found in what could be read.
Result<std::vector<CgroupMount>> find_mounts(
    const std::function<bool(std::string_view end)>& matches) {
  constexpr std::string_view kSeparator = " - ";
  std::vector<CgroupMount> mounts;
  const auto read = for_each_line_of("/proc/self/mountinfo", [&](std::string_view line) {
    const size_t separator = line.find(kSeparator);
    if (separator == std::string_view::npos || !matches(line.substr(separator + kSeparator.size())))
      return;
    std::istringstream fields{std::string(line)};
    std::string id, parent, device, root, point;
    fields >> id >> parent >> device >> root >> point;
    mounts.push_back({.root = root, .point = point});
  });
  if (mounts.empty() && !read) return fail(ExitCode::os, "{}", read.error().message);
  return mounts;
}

// The first one of find_mounts().
Result<CgroupMount> find_mount(const std::function<bool(std::string_view end)>& matches,
                               std::string_view what) {
  auto mounts = find_mounts(matches);
  if (!mounts) return propagate(mounts);
  if (mounts->empty()) return fail(ExitCode::usage, "no {} file system is mounted", what);
  return std::move(mounts->front());
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

std::vector<CgroupMount> likely_cgroup_mounts() {
  std::vector<CgroupMount> mounts;
  for (const std::string_view type : {"cgroup2 ", "cgroup "})
    if (auto found = find_mounts([type](std::string_view end) { return end.starts_with(type); }))
      mounts.insert(mounts.end(), std::make_move_iterator(found->begin()),
                    std::make_move_iterator(found->end()));
  for (const char* point : {"/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"})
    mounts.push_back({.root = "/", .point = point});
  return mounts;
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
