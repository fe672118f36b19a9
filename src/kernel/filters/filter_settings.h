// SPDX-License-Identifier: BSD-2-Clause
// The filter as written in the configuration or on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ktraced {

// One side of a filter. Values within a list are alternatives. To include, every list that is not
// empty must match; to exclude, any one suffices.
struct FilterSide {
  std::vector<uint32_t> pid;  // process or thread ids
  std::vector<uint32_t> uid;
  std::vector<std::string> comm;    // exact, or a prefix with a trailing '*'
  std::vector<uint32_t> follow;     // processes whose trees are followed
  std::vector<std::string> cgroup;  // cgroup v2 paths, absolute or below the cgroup mount

  bool operator==(const FilterSide&) const = default;
  [[nodiscard]] bool empty() const { return *this == FilterSide{}; }
};

// Which tasks match.
struct TaskFilter {
  FilterSide include;
  FilterSide exclude;

  bool operator==(const TaskFilter&) const = default;
};

struct FilterSettings {
  FilterSide include;
  FilterSide exclude;
  std::vector<std::string> syscall;  // system calls recorded, by name; empty: all

  bool operator==(const FilterSettings&) const = default;
  [[nodiscard]] TaskFilter tasks() const { return {.include = include, .exclude = exclude}; }
};

}  // namespace ktraced
