// SPDX-License-Identifier: BSD-2-Clause
// The daemon's own recording, "stream.output", as a test sees it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// A configuration that records getpriority(), whose calls the ground truth numbers, into
// `directory`, or nowhere without one. The rings are large enough to lose nothing, however late
// they are read.
[[nodiscard]] json output_config(const std::filesystem::path& directory,
                                 json output = json::object());
[[nodiscard]] json no_output_config();

// status.stream.output
[[nodiscard]] json output_status(Daemon& daemon);

// The trace directories there, oldest first; `.partial` ones only on request.
[[nodiscard]] std::vector<std::filesystem::path> traces_in(const std::filesystem::path& directory,
                                                           bool unfinished = false);

// The output of `ktracectl show` for traces: the n of the getpriority(0, n) calls of a process, in
// the order shown, and the number of lost events.
struct ShownCalls {
  std::vector<uint64_t> numbers;
  uint64_t lost = 0;
};
ShownCalls show_calls(const std::vector<std::filesystem::path>& traces, pid_t pid,
                      const Command& options = {});

// Sums of "events" and "lost" that `ktracectl show --count-only` prints for these traces.
[[nodiscard]] json event_counts(const std::vector<std::filesystem::path>& traces,
                                const Command& options = {});

// Waits until the traces there hold all events that the output has recorded so far, as far as a
// process can see. Nothing may be recorded meanwhile.
void wait_until_on_disk(Daemon& daemon, const std::filesystem::path& directory);

// Lost events according to the traces.
[[nodiscard]] uint64_t lost_in(const std::vector<std::filesystem::path>& traces);

// Missed hits of an event according to the traces.
[[nodiscard]] uint64_t missed_in(const std::vector<std::filesystem::path>& traces,
                                 const std::string& event);

// Expects that every trace is complete except for missed hits, and that each begins where the
// previous one ends.
void expect_gapless(const std::vector<std::filesystem::path>& traces);

}  // namespace ktraced::live
