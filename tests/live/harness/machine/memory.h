// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ktraced::live {

// A mapping of a process.
struct MemoryMapping {
  std::string line;  // "7f00-7f01 rw-s … PATH"
  size_t kb = 0;
  size_t resident_kb = 0;
};

// None if the process has ended.
inline std::vector<MemoryMapping> mappings_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/smaps");
  std::vector<MemoryMapping> found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) found.push_back({.line = line});
    std::istringstream words(line);
    std::string key;
    size_t kb = 0;
    words >> key >> kb;
    if (key == "Size:") found.back().kb = kb;
    if (key == "Rss:") found.back().resident_kb = kb;
  }
  return found;
}

// Resident memory of a process without its mapped rings, in KiB; 0 if the process has ended.
inline size_t resident_kb_beside_rings(pid_t pid) {
  size_t sum = 0;
  for (const MemoryMapping& mapping : mappings_of(pid))
    if (!mapping.line.contains("bpf-map") && !mapping.line.contains("/bpf/"))
      sum += mapping.resident_kb;
  return sum;
}

// Resident memory of the arena that a process has mapped, in KiB; 0: it has none. Pages that the
// kernel frees are no longer resident.
inline size_t resident_kb_of_arena(pid_t pid) {
  constexpr size_t kArenaKb = size_t{4} << 20;
  const auto mappings = mappings_of(pid);
  const auto arena = std::ranges::find(mappings, kArenaKb, &MemoryMapping::kb);
  return arena == mappings.end() ? 0 : arena->resident_kb;
}

}  // namespace ktraced::live
