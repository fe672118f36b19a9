// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/files/lines.h"
#include "base/files/read_file.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFileBytes = 4096;
// Version 1 shows a limit of this or more where there is none.
constexpr uint64_t kUnlimited = uint64_t{1} << 62;
// Room for the programs that a reload loads, buffers, and charges that the kernel makes in advance.
constexpr uint64_t kReserve = uint64_t{8} << 20;

// The files of one version of control groups. The keys are those of memory.stat, with descendants.
struct Version {
  const char* limit;
  const char* used;
  std::array<std::string_view, 3> reclaimable;
};
constexpr std::array kVersions = {
    Version{"memory.max", "memory.current", {"inactive_file", "active_file", "slab_reclaimable"}},
    Version{"memory.limit_in_bytes",
            "memory.usage_in_bytes",
            {"total_inactive_file", "total_active_file"}}};

// The number in a file; nothing if that has another word, as "max".
std::optional<uint64_t> bytes_in_file(const fs::path& file) {
  return number_behind<uint64_t>("", read_file(file, kFileBytes).value_or(""));
}

// The kernel frees these pages before it ends a process.
uint64_t reclaimable_in(const fs::path& group, const Version& version) {
  uint64_t bytes = 0;
  static_cast<void>(for_each_line_of((group / "memory.stat").string(), [&](std::string_view line) {
    const std::string_view key = line.substr(0, line.find(' '));
    if (std::ranges::find(version.reclaimable, key) == version.reclaimable.end()) return;
    for (const uint64_t number : numbers_behind<uint64_t>(key, line)) bytes += number;
  }));
  return bytes;
}

std::optional<MemoryLimit> limit_of(const fs::path& group) {
  for (const Version& version : kVersions) {
    const auto limit = bytes_in_file(group / version.limit);
    const auto used = bytes_in_file(group / version.used);
    if (!limit || *limit >= kUnlimited || !used) continue;
    const uint64_t taken = *used - std::min(*used, reclaimable_in(group, version));
    return MemoryLimit{.group = group, .limit = *limit, .left = *limit - std::min(*limit, taken)};
  }
  return std::nullopt;
}

// The path of this process in a hierarchy: from a line "4:memory:/x", or "0::/x" of version 2.
std::optional<fs::path> own_group(std::string_view controllers) {
  std::optional<fs::path> group;
  static_cast<void>(for_each_line_of("/proc/self/cgroup", [&](std::string_view line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) return;
    if (line.substr(first + 1, second - first - 1) == controllers)
      group = fs::path(line.substr(second + 1));
  }));
  return group;
}

// A mount of a part of the hierarchy that does not hold `group` shows only its own limits.
std::vector<MemoryLimit> limits_in(const CgroupMount& mount, const fs::path& group) {
  const fs::path below = group.lexically_relative(mount.root);
  const bool outside = below.empty() || *below.begin() == "..";
  return memory_limits(mount.point, outside ? fs::path() : below);
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const fs::path& mount_point, const fs::path& group) {
  std::vector<MemoryLimit> limits;
  fs::path below = group.lexically_normal().relative_path();
  if (!below.has_filename()) below = below.parent_path();  // without a trailing '/'
  for (;; below = below.parent_path()) {
    if (auto limit = limit_of(mount_point / below)) limits.push_back(std::move(*limit));
    if (below.empty()) return limits;
  }
}

std::vector<MemoryLimit> MemoryLimits::read() {
  std::vector<MemoryLimit> limits;
  const std::lock_guard lock(mutex_);
  for (Version& version : versions_) {
    if (!version.mount) {
      auto found = version.find();
      if (!found) continue;
      version.mount = std::move(*found);
    }
    if (const auto group = own_group(version.controllers))
      std::ranges::move(limits_in(*version.mount, *group), std::back_inserter(limits));
  }
  return limits;
}

std::vector<MemoryLimit> memory_limits() {
  static MemoryLimits limits;
  return limits.read();
}

Result<> check_memory_limit(std::span<const MemoryLimit> limits, uint64_t bytes) {
  const auto lowest = std::ranges::min_element(limits, {}, &MemoryLimit::limit);
  if (lowest == limits.end() || bytes + kReserve <= lowest->limit) return {};
  return fail(ExitCode::unavailable,
              "the memory limit of {} MiB of the control group {} is too low for them (MemoryMax= "
              "of a service raises it)",
              lowest->limit >> 20, lowest->group.string());
}

Result<> check_memory_room(std::span<const MemoryLimit> limits, uint64_t bytes) {
  if (auto possible = check_memory_limit(limits, bytes); !possible) return possible;
  const auto least = std::ranges::min_element(limits, {}, &MemoryLimit::left);
  if (least == limits.end() || bytes + kReserve <= least->left) return {};
  return fail(ExitCode::os,
              "the memory limit of {} MiB of the control group {} leaves {} MiB for rings now "
              "(MemoryMax= of a service raises it)",
              least->limit >> 20, least->group.string(),
              (least->left - std::min(least->left, kReserve)) >> 20);
}

}  // namespace ktraced
