// SPDX-License-Identifier: BSD-2-Clause
// Why an interval is not known.
#pragma once

#include <cstdint>

namespace ktraced {

enum class Unknown : uint8_t {
  none,           // it is known
  unseen,         // an event of it is not in the trace, which does not say why
  before_trace,   // nothing is known before the first event
  lost,           // events were lost or overwritten
  config_change,  // what is traced was changed, or tracing was paused
  gap,            // nothing was recorded between two traces
  filter,         // the filter may reject the thread
  evicted,        // too many intervals were open at once
  trace_end,      // it went on when the trace ended
};

}  // namespace ktraced
