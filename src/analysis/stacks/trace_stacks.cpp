// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/trace_stacks.h"

#include <algorithm>

namespace ktraced {

void TraceStacks::add_files(const History& history) {
  for (const TraceReader& trace : history.traces()) {
    for (const MappedFile& file : trace.mapped_files()) add(file);
    add(trace.jit_functions());
  }
}

// Traces that follow each other have many of the same functions.
void TraceStacks::add(std::span<const JitFunction> functions) {
  if (functions.empty()) return;
  jit_functions_.insert(jit_functions_.end(), functions.begin(), functions.end());
  sort_jit_functions(jit_functions_);
  const auto [first, last] = std::ranges::unique(jit_functions_);
  jit_functions_.erase(first, last);
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
