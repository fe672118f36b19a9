// SPDX-License-Identifier: BSD-2-Clause
// Rates by process and by system call, from the events of a session.
#pragma once

#include <memory>

#include "analysis/analysis.h"
#include "ctl/input/options.h"
#include "ctl/rates/top_table.h"

namespace ktraced {

// Counts events until take().
class ActivityRates : public Analysis {
 public:
  // The table of a view of processes or system calls.
  [[nodiscard]] static std::unique_ptr<ActivityRates> of(TopView view);
  // The rates since the last call, which was `seconds` ago. Memory is bounded, see SummaryAnalysis
  // and SyscallAnalysis.
  [[nodiscard]] virtual TopTable take(double seconds) = 0;
};

}  // namespace ktraced
