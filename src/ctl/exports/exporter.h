// SPDX-License-Identifier: BSD-2-Clause
// A form in which traces are exported.
#pragma once

#include "analysis/stacks/stack_names.h"
#include "ctl/input/trace_texts.h"
#include "ctl/selection/selection.h"
#include "ctl/terminal/output_target.h"
#include "trace/merge/history.h"

namespace ktraced {

// The selected events and the symbols of each trace.
struct ExportChoice {
  Selection selection;
  KeptSymbols symbols;
};

// Takes events and writes them to a target.
class Exporter : public MergeSink {
 public:
  // Writes what is ready, in large pieces. Fails as OutputTarget::write does.
  [[nodiscard]] virtual Result<> write(OutputTarget& target) = 0;
  // No more events come: writes the rest.
  [[nodiscard]] virtual Result<> finish(OutputTarget& target) = 0;
  // Events written and lost.
  [[nodiscard]] virtual EventAccount total() const = 0;
  // Call after finish(). How the stacks that were written end; null: this form has none.
  [[nodiscard]] virtual const StackEnds* stack_ends() const { return nullptr; }
};

}  // namespace ktraced
