// SPDX-License-Identifier: BSD-2-Clause
// The timelines of the HTML report, in the format of its page.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "analysis/intervals/call_timeline.h"
#include "analysis/intervals/loss_timeline.h"
#include "analysis/intervals/run_timeline.h"

namespace ktraced {

// The page draws the system calls of this many threads: those with the most calls.
inline constexpr size_t kDrawnThreads = 500;

// {"run","unknown","calls","losses"} with lanes of slices, and the lists that they refer to. Times
// are relative to `begin_ns`. All timelines must be finished.
[[nodiscard]] nlohmann::json html_timeline(const RunTimeline& run, const CallTimeline& calls,
                                           const LossTimeline& losses, uint64_t begin_ns);

}  // namespace ktraced
