// SPDX-License-Identifier: BSD-2-Clause
// Rates by process and by system call, from the events of a session.
#pragma once

#include <cstdint>
#include <memory>

#include "analysis/analysis.h"
#include "ctl/input/options.h"
#include "ctl/rates/top_table.h"

namespace ktraced {

// Counts events until take().
class ActivityRates : public Analysis {
 public:
  // For a view of processes or system calls. `begin_ns`: of the first interval, CLOCK_BOOTTIME.
  [[nodiscard]] static std::unique_ptr<ActivityRates> of(TopView view, uint64_t begin_ns);
  // The rates of what came since the last call: everything from `since_ns` to `until_ns`, ns,
  // CLOCK_BOOTTIME. Memory is bounded, see ProcessRates and SyscallAnalysis.
  [[nodiscard]] virtual TopTable take(uint64_t since_ns, uint64_t until_ns) = 0;
};

}  // namespace ktraced
