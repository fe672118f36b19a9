// SPDX-License-Identifier: BSD-2-Clause
// Shared by the commands that read trace directories.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/selection/selection.h"
#include "ctl/selection/time_selection.h"
#include "decoders/symbols/frame_namer.h"
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

// The selected events of each trace. Fails as Selection::make does; the message names the trace.
// Prints KnownTasks::partly_unknown() on standard error.
Result<std::vector<Selection>> selections_for(const History& history, const SelectionArgs& args);

// All tasks and CPUs of the traces, at any time.
[[nodiscard]] KnownTasks known_tasks(const History& history);

// The path of a trace from the root, also if it was given as "." or with a slash at its end. Empty
// if the working directory is unknown.
[[nodiscard]] std::filesystem::path absolute_path(const std::filesystem::path& trace);

// If a snapshot is read alone and the one before it is beside it: prints on standard error that it
// has what came before, as have at most 8 in a row before it, and the command that shows all.
void print_previous(const History& history);

// `notable`: those that are not complete, or in which some CPUs reach further back than others.
enum class StatesOf { all, notable };

// Prints on standard error the state of these traces, and then print_previous(). Of all, it also
// prints how many events were in more than one.
void print_states(const History& history, StatesOf which);

// Prints on standard error why frames have no names.
void print_frame_caveats(const FrameNames& files);

// Prints on standard error that no event is selected, and by which of the options. `use`: what the
// records have met of `selection`, which is that of any of the traces. `lost`: events of which some
// may have been.
void print_none_selected(const History& history, const SelectionArgs& args, const TimeArgs& times,
                         const Selection& selection, const SelectionUse& use, uint64_t lost);

}  // namespace ktraced
