// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace ktraced::live {

// Resident memory of a process without its mapped rings, in KiB; 0 if the process has ended.
inline size_t resident_kb_beside_rings(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/smaps");
  size_t sum = 0;
  bool ring = false;
  for (std::string line; std::getline(maps, line);) {
    if (std::istringstream words(line); line.starts_with("Rss:")) {
      std::string key;
      size_t kb = 0;
      words >> key >> kb;
      if (!ring) sum += kb;
    } else if (line.find('-') < line.find(' ')) {  // "7f00-7f01 rw-s … PATH"
      ring = line.contains("bpf-map") || line.contains("/bpf/");
    }
  }
  return sum;
}

}  // namespace ktraced::live
