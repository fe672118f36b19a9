// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/cgroup_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files/cgroup_mount.h"
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

CgroupChoice::CgroupChoice(const std::vector<std::string>& texts) : texts_(texts), paths_(texts) {
  if (std::ranges::none_of(texts, [](const auto& text) { return text.starts_with('/'); })) return;
  // The mounts include those of most machines, because a trace may be of another one.
  const std::vector<CgroupMount> mounts = likely_cgroup_mounts();
  for (const std::string& text : texts)
    for (const CgroupMount& mount : mounts)
      if (const auto below = below_mount(mount, text))
        paths_.push_back((mount.root / *below).lexically_normal());
}

bool CgroupChoice::contains(uint64_t id, std::string_view path) const {
  const std::string number = fmt::format("{}", id);
  if (std::ranges::find(texts_, number) != texts_.end()) return true;
  if (path.empty()) return false;
  const auto is_of_path = [path](const std::string& group) { return is_below(path, group); };
  if (std::ranges::any_of(paths_, is_of_path)) return true;
  const auto container = container_of(path);
  return container && std::ranges::any_of(texts_, [&](const std::string& text) {
           return is_container(*container, text);
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
