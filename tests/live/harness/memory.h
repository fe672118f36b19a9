// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <unistd.h>

#include <fstream>
#include <string>

namespace ktraced::live {

// A process's memory that is neither a file's nor shared, as rings are. In KiB; 0 if it is gone.
inline size_t anonymous_kb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "RssAnon:") {
      size_t kb = 0;
      status >> kb;
      return kb;
    }
  return 0;
}

}  // namespace ktraced::live
