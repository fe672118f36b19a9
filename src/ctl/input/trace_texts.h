// SPDX-License-Identifier: BSD-2-Clause
// Shared by the commands that read trace directories.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/selection/selection.h"
#include "decoders/text/decoder.h"
#include "trace/merge/history.h"

namespace ktraced {

// The symbols stored in a trace.
class KeptSymbols : public SymbolResolver {
 public:
  explicit KeptSymbols(const SymbolMap& symbols) : symbols_(symbols) {}
  std::string_view resolve(uint64_t address) override {
    auto found = symbols_.find(address);
    return found == symbols_.end() ? std::string_view{} : found->second;
  }

 private:
  const SymbolMap& symbols_;
};

// The selected events of the trace. Fails as Selection::make does; the message names the trace.
// Prints the cgroup_notes() on standard error.
Result<Selection> selection_for(const TraceReader& trace, const SelectionArgs& args);

// Prints the state of each trace that is not complete on standard error.
void print_incomplete(const History& history);

// Prints the state of each trace on standard error.
void print_states(const History& history);

// Prints on standard error that no event is selected, and Selection::field_hints(). `lost`: events
// of which some may have been.
void print_none_selected(uint64_t lost, const std::vector<std::string>& hints);

}  // namespace ktraced
