// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel misses.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// Expects the numbers 1 … count, each once and in order, with at most as many gaps as the daemon
// reports missed hits of the event. From Linux 7.0 on a program may be preempted; the kernel then
// misses, and counts, a hit of the same program on that CPU. Older kernels miss none.
void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t count, Daemon& daemon,
                           const std::string& event);

// The same for first … last, of which `missed` hits were missed.
void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t first, uint64_t last,
                           uint64_t missed);

// Programs of tracepoints count what the kernel misses from Linux 6.7 on.
[[nodiscard]] bool misses_are_counted();

// True if a manifest, or the answer to a snapshot, is complete; or, where the kernel may miss hits,
// if nothing but those is missing.
[[nodiscard]] bool complete_but_for_missed(const json& expected);

}  // namespace ktraced::live
