// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/query.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/print_stderr.h"
#include "base/text/plain_text.h"
#include "ctl/input/trace_texts.h"
#include "ctl/query/database.h"
#include "ctl/query/result_printer.h"
#include "ctl/query/shell.h"
#include "ctl/selection/time_selection.h"
#include "ctl/tables/all_tables.h"
#include "trace/merge/history.h"

namespace ktraced {
namespace {

// More does not fit into the address space.
constexpr uint64_t kMostMemoryMb = uint64_t{1} << 27;

ResultForm form_of(const QueryCommand& command, const Options& options) {
  if (command.csv) return ResultForm::csv;
  return options.json ? ResultForm::json : ResultForm::table;
}

// One for each trace; none if everything is selected.
Result<std::vector<Selection>> selections_of(const SelectionArgs& args, const History& history) {
  std::vector<Selection> selections;
  if (args.empty()) return selections;
  for (const TraceReader& trace : history.traces()) {
    auto selection = selection_for(trace, args);
    if (!selection) return propagate(selection);
    selections.push_back(std::move(*selection));
  }
  return selections;
}

// The options that no event has met; empty: each was met, or no event was read.
std::string unmet_text(const std::vector<Selection>& selections, const SelectionUse& use) {
  return selections.empty() || !use.read_any ? "" : selections.front().unmet_text(use.met);
}

}  // namespace

Result<> run_query(const QueryCommand& command, const Options& options) {
  if (command.csv && options.json)
    return fail(ExitCode::usage, "--csv and --json exclude each other");
  const std::vector<std::filesystem::path> directories(command.directories.begin(),
                                                       command.directories.end());
  auto history = History::open(directories, command.partial);
  if (!history) return propagate(history);
  if (auto selected = select_times(command.times, *history); !selected) return propagate(selected);
  auto selections = selections_of(command.selection, *history);
  if (!selections) return propagate(selections);
  auto database = Database::open(std::min(command.memory_mb, kMostMemoryMb) << 20);
  if (!database) return propagate(database);
  SelectionUse use;
  for (auto& table : all_tables({*history, *selections, &use}))
    if (auto added = (*database)->add(std::move(table)); !added) return added;
  ResultPrinter printer(form_of(command, options), Colours::of(STDOUT_FILENO),
                        ::isatty(STDOUT_FILENO) == 1);
  print_incomplete(*history);
  Shell shell(**database, printer);
  auto done = command.shell ? shell.run(stdin) : shell.run(command.sql);
  if (!done) return done;
  if (const std::string unmet = unmet_text(*selections, use); !unmet.empty())
    print_stderr("ktracectl: of the events that the query reads, none is selected by {}\n",
                 printable(unmet));
  return history->verdict();
}

}  // namespace ktraced
