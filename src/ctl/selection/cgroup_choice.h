// SPDX-License-Identifier: BSD-2-Clause
// Selects control groups.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/metadata/name_table.h"

namespace ktraced {

// The control groups that --cgroup names: by path, with all groups below it
// ("system.slice/nginx.service", "/sys/fs/cgroup/system.slice/nginx.service"); by id; or by their
// container: its id, at least 12 digits of it, its name, or the uid of its pod.
class CgroupChoice {
 public:
  CgroupChoice() = default;
  explicit CgroupChoice(const std::vector<std::string>& texts);

  // Nothing is chosen: everything matches.
  [[nodiscard]] bool empty() const { return texts_.empty(); }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }
  // Is the thread in one of the chosen groups at that time?
  [[nodiscard]] bool contains(uint32_t tid, uint64_t ts, const NameTable& names) const;
  // Is this group a chosen one? `path`: below the root of the hierarchy, empty if unknown.
  [[nodiscard]] bool contains(uint64_t id, std::string_view path) const;

 private:
  std::vector<std::string> texts_;                    // as typed
  std::vector<std::string> paths_;                    // what they are as paths in the hierarchy
  mutable std::unordered_map<uint64_t, bool> known_;  // by id; of groups with a known path
};

}  // namespace ktraced
