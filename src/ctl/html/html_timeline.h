// SPDX-License-Identifier: BSD-2-Clause
// The timelines of the HTML report, in the format of its page.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "analysis/intervals/loss_timeline.h"
#include "analysis/intervals/run_timeline.h"
#include "analysis/intervals/thread_timeline.h"

namespace ktraced {

// The page draws this many threads: those with the most CPU time.
inline constexpr size_t kDrawnThreads = 500;

// {"run","unknown","threads","losses"} with lanes of slices, and the lists that they refer to.
// Times are relative to `begin_ns`. All timelines must be finished.
[[nodiscard]] nlohmann::json html_timeline(const RunTimeline& run, const ThreadTimeline& threads,
                                           const LossTimeline& losses, uint64_t begin_ns);

}  // namespace ktraced
