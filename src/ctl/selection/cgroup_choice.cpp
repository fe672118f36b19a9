// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/cgroup_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "trace/metadata/container.h"

namespace ktraced {
namespace {

constexpr size_t kShortId = 12;  // digits of an id that runtimes show

bool is_below(std::string_view path, std::string_view group) {
  while (group.ends_with('/')) group.remove_suffix(1);
  while (group.starts_with('/')) group.remove_prefix(1);
  if (path.starts_with('/')) path.remove_prefix(1);
  return path.starts_with(group) &&
         (group.empty() || path.size() == group.size() || path[group.size()] == '/');
}

bool is_container(const Container& container, std::string_view text) {
  return container.id == text || (!container.pod.empty() && container.pod == text) ||
         (text.size() >= kShortId && container.id.starts_with(text));
}

}  // namespace

bool CgroupChoice::contains(uint64_t id, std::string_view path) const {
  const std::string number = fmt::format("{}", id);
  if (std::ranges::find(texts_, number) != texts_.end()) return true;
  if (path.empty()) return false;
  const auto container = container_of(path);
  return std::ranges::any_of(texts_, [&](const std::string& text) {
    return is_below(path, text) || (container && is_container(*container, text));
  });
}

bool CgroupChoice::contains(uint32_t tid, uint64_t ts, const NameTable& names) const {
  const uint64_t id = names.cgroup_at(tid, ts);
  if (id == 0) return false;
  if (const auto known = known_.find(id); known != known_.end()) return known->second;
  const std::string_view path = names.cgroup_path(id);
  const bool contained = contains(id, path);
  if (!path.empty()) known_[id] = contained;
  return contained;
}

}  // namespace ktraced
