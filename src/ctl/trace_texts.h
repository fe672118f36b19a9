// SPDX-License-Identifier: BSD-2-Clause
// What commands that read trace directories have in common.
#pragma once

#include <cstdint>
#include <string_view>

#include "ctl/selection.h"
#include "decoders/decoder.h"
#include "trace/history.h"

namespace ktraced {

// The symbols that a trace has kept.
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

// Which events of the trace are chosen. Fails as Selection::make does, naming the trace.
Result<Selection> selection_for(const TraceReader& trace, const SelectionArgs& args);

// Says on standard error what the traces say of themselves.
void print_states(const History& history);

}  // namespace ktraced
