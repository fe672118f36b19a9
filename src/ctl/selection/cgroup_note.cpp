// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/cgroup_note.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/text/suggest.h"
#include "ctl/selection/cgroup_choice.h"
#include "trace/metadata/container.h"

namespace ktraced {
namespace {

constexpr std::string_view kListed =
    "no task of the trace was in it: ktracectl query DIR 'SELECT DISTINCT cgroup FROM threads' "
    "lists the groups";

// Paths by id, of the groups in which a task was at some time.
std::map<uint64_t, std::string> groups_in(const NameTable& names) {
  std::map<uint64_t, std::string> groups;
  names.for_each_task([&](uint32_t /*tid*/, const auto& versions) {
    for (const TaskName& version : versions)
      if (version.cgroup != 0 && !groups.contains(version.cgroup))
        groups.emplace(version.cgroup, names.cgroup_path(version.cgroup));
  });
  return groups;
}

// What --cgroup takes for these groups, apart from ids.
std::set<std::string> names_of(const std::map<uint64_t, std::string>& groups) {
  std::set<std::string> names;
  for (const auto& [id, path] : groups) {
    std::string_view shown = path;
    while (shown.starts_with('/')) shown.remove_prefix(1);
    if (!shown.empty()) names.emplace(shown);
    const auto container = container_of(path);
    if (!container) continue;
    names.insert(container->id);
    if (!container->pod.empty()) names.insert(container->pod);
  }
  return names;
}

}  // namespace

std::vector<std::string> cgroup_notes(const std::vector<std::string>& typed,
                                      const NameTable& names) {
  std::vector<std::string> notes;
  if (typed.empty()) return notes;
  const auto groups = groups_in(names);
  if (groups.empty()) return {"the trace has no control groups: --cgroup selects nothing"};
  const auto known = names_of(groups);
  for (const std::string& text : typed) {
    const CgroupChoice choice({text});
    const auto is_meant = [&](const auto& group) {
      return choice.contains(group.first, group.second);
    };
    if (std::ranges::none_of(groups, is_meant))
      notes.push_back(unknown_name("control group", text, known, kListed));
  }
  return notes;
}

}  // namespace ktraced
