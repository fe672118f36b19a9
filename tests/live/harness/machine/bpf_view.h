// SPDX-License-Identifier: BSD-2-Clause
// The kernel's view of a daemon's BPF objects, independent of the daemon.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"

namespace ktraced::live {

// Ids of the BPF objects a process holds open.
struct BpfObjects {
  std::set<uint32_t> programs, maps, links;
  std::set<uint32_t> attached_programs;  // programs of the links
};
[[nodiscard]] BpfObjects bpf_objects_of(pid_t pid);

// Names of the programs that are attached (truncated to 15 characters, as the kernel keeps them).
[[nodiscard]] std::set<std::string> attached_program_names(pid_t pid);

struct ProgramCounts {
  uint64_t runs = 0;    // counted only while RunStatistics lives
  uint64_t missed = 0;  // recursion misses
};
// The program with that name; throws if the process has none.
[[nodiscard]] ProgramCounts program_counts(pid_t pid, const std::string& name);

// Descriptors of the links that a process holds open: the kernel frees none of them while these are
// open.
[[nodiscard]] std::vector<Fd> hold_links_of(pid_t pid);

// Those of the objects that still exist.
[[nodiscard]] BpfObjects still_there(const BpfObjects& objects);

// True if none of the programs, maps and links exists any more: the kernel frees them with a delay.
[[nodiscard]] testing::AssertionResult all_gone(const BpfObjects& objects);

// Makes the kernel count runs of BPF programs while it lives.
class RunStatistics {
 public:
  RunStatistics();

 private:
  Fd fd_;
};

}  // namespace ktraced::live
