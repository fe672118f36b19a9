// SPDX-License-Identifier: BSD-2-Clause
// The timelines of the HTML report, as its page reads them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "decoders/call_timeline.h"
#include "decoders/loss_timeline.h"
#include "decoders/run_timeline.h"

namespace ktraced {

// Threads whose system calls the page draws: those with the most.
inline constexpr size_t kDrawnThreads = 500;

// {"run","unknown","calls","losses"} with lanes of slices, and the lists that they refer to. Times
// are relative to `begin_ns`. All timelines are finished.
[[nodiscard]] nlohmann::json html_timeline(const RunTimeline& run, const CallTimeline& calls,
                                           const LossTimeline& losses, uint64_t begin_ns);

}  // namespace ktraced
