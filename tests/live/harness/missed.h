// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel skips.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/daemon.h"

namespace ktraced::live {

// Expects the numbers 1 … count, each once and in order, without more gaps than the daemon says
// hits of the event were missed. From Linux 7.0 on a program may be preempted; a hit of the same
// program on that CPU is then skipped, and counted by the kernel. On older ones none is.
void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t count, Daemon& daemon,
                           const std::string& event);

// The same of first … last, of which `missed` hits were skipped.
void expect_all_but_missed(const std::vector<uint64_t>& numbers, uint64_t first, uint64_t last,
                           uint64_t missed);

// Does a manifest, or the answer to a snapshot, say that it is complete, or, where the kernel may
// skip hits, that nothing is missing but those?
[[nodiscard]] bool complete_but_for_missed(const json& told);

}  // namespace ktraced::live
