// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/trace_stacks.h"

namespace ktraced {

void TraceStacks::add_files(const History& history) {
  for (const TraceReader& trace : history.traces())
    for (const MappedFile& file : trace.mapped_files()) add(file);
}

bool TraceStacks::read_all(const History& history, const std::atomic<bool>& stop) {
  History whole = history.again();
  whole.set_window({});
  whole.leave_out({});
  while (!stop && whole.read(*this)) {
  }
  add_files(history);
  return !stop;
}

}  // namespace ktraced
