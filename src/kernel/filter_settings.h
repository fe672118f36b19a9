// SPDX-License-Identifier: BSD-2-Clause
// What an operator wants traced, as written in the configuration or on the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ktraced {

// One side of a filter. Values within a list are alternatives; of the lists that
// are not empty, every one must match to include, any one to exclude.
struct FilterSide {
  std::vector<uint32_t> pid;  // process or thread ids
  std::vector<uint32_t> uid;
  std::vector<std::string> comm;    // exact, or a beginning with a trailing '*'
  std::vector<uint32_t> follow;     // processes whose tree is meant
  std::vector<std::string> cgroup;  // cgroup v2 paths, absolute or below the cgroup mount

  bool operator==(const FilterSide&) const = default;
  [[nodiscard]] bool empty() const { return *this == FilterSide{}; }
};

struct FilterSettings {
  FilterSide include;
  FilterSide exclude;
  std::vector<std::string> syscall;  // system calls recorded, by name; empty: all

  bool operator==(const FilterSettings&) const = default;
};

}  // namespace ktraced
