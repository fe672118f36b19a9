// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/trace_stacks.h"

namespace ktraced {

bool TraceStacks::read_all(const History& history, const std::atomic<bool>& stop) {
  History whole = history.again();
  whole.set_window({});
  whole.leave_out({});
  while (!stop && whole.read(*this)) {
  }
  return !stop;
}

}  // namespace ktraced
