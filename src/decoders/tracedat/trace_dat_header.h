// SPDX-License-Identifier: BSD-2-Clause
// The beginning of a trace.dat file.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ktraced {

// What stands before the pages of the CPUs.
struct TraceDatHeader {
  // Content of the format files, by group.
  std::map<std::string, std::vector<std::string>> formats;
  std::string comms;                   // lines of thread and name: "812 nginx"
  std::string kernel;                  // "Linux HOST RELEASE", or empty
  std::vector<std::string> cpu_stats;  // one for each CPU: "CPU: 0\nentries: 5\n"
  std::vector<uint64_t> cpu_bytes;     // of the pages of each CPU, from CPU 0
};

// The file up to the pages of CPU 0, in version 6 of the format: trace-cmd.dat.v6(5). The pages of
// the CPUs follow, in order of their numbers and without gaps.
[[nodiscard]] std::string trace_dat_header(const TraceDatHeader& header);

}  // namespace ktraced
