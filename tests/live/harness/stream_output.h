// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording, "stream.output", as a test sees it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/daemon.h"

namespace ktraced::live {

// A configuration that records getpriority(), whose calls the ground truth numbers, into
// `directory`; without one, into nothing. The rings are so large that nothing is lost in them,
// however late they are read.
[[nodiscard]] json output_config(const std::filesystem::path& directory,
                                 json output = json::object());
[[nodiscard]] json no_output_config();

// status.stream.output
[[nodiscard]] json output_status(Daemon& daemon);

// The trace directories there, by age; those called `.partial` only if asked for.
[[nodiscard]] std::vector<std::filesystem::path> traces_in(const std::filesystem::path& directory,
                                                           bool unfinished = false);

// What `ktracectl show` makes of traces: the n of the getpriority(0, n) calls of a process, in
// the order they are shown, and the events lost.
struct ShownCalls {
  std::vector<uint64_t> numbers;
  uint64_t lost = 0;
};
ShownCalls show_calls(const std::vector<std::filesystem::path>& traces, pid_t pid,
                      const Command& options = {});

// Events that the traces say are lost.
[[nodiscard]] uint64_t lost_in(const std::vector<std::filesystem::path>& traces);

// Hits of an event that the traces say the kernel skipped.
[[nodiscard]] uint64_t missed_in(const std::vector<std::filesystem::path>& traces,
                                 const std::string& event);

// Every trace is whole but for skipped hits, and each begins where the one before ends.
void expect_gapless(const std::vector<std::filesystem::path>& traces);

}  // namespace ktraced::live
