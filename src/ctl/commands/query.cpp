// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/print_stderr.h"
#include "base/text/plain_text.h"
#include "ctl/archive/open_history.h"
#include "ctl/input/trace_input.h"
#include "ctl/input/trace_texts.h"
#include "ctl/query/database.h"
#include "ctl/query/result_printer.h"
#include "ctl/query/shell.h"
#include "ctl/selection/time_selection.h"
#include "ctl/tables/tables.h"
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
  if (args.empty()) return std::vector<Selection>();
  return selections_for(history, args);
}

// The options that select nothing of what was read; empty: something was selected, or nothing read.
std::string unmet_text(const std::vector<Selection>& selections, const SelectionUse& use,
                       const History& history) {
  if (selections.empty() || !use.read_any) return {};
  return selections.front().unmet_text(use, known_tasks(history));
}

// Says why rows of a table that was read may be missing: its events were not traced all the time.
void print_caveats(const QueryTable& table, const std::vector<std::string>& needs,
                   TraceInput& input) {
  if (needs.empty()) return;
  // The table of an event has its records only, whatever other events say.
  const Needed of_each = needs.front() == table.name() ? Needed::records : Needed::content;
  std::vector<std::string> texts;
  for (ConfigCaveat& caveat : input.caveats_of_config(needs, of_each))
    texts.push_back(std::move(caveat.text));
  if (!texts.empty())
    print_stderr("ktracectl: {}\n",
                 printable(fmt::format("{}: {}", table.name(), fmt::join(texts, "; "))));
}

}  // namespace

Result<> run_query(const QueryCommand& command, const Options& options) {
  if (command.csv && options.json)
    return fail(ExitCode::usage, "--csv and --json exclude each other");
  auto history = open_history(command.directories, command.partial);
  if (!history) return propagate(history);
  if (auto selected = select_times(command.times, *history); !selected) return propagate(selected);
  auto selections = selections_of(command.selection, *history);
  if (!selections) return propagate(selections);
  auto database = Database::open(std::min(command.memory_mb, kMostMemoryMb) << 20);
  if (!database) return propagate(database);
  SelectionUse use;
  for (auto& table : all_tables({*history, *selections, &use, command.frames}))
    if (auto added = (*database)->add(std::move(table)); !added) return added;
  ResultPrinter printer(form_of(command, options), Colours::of(STDOUT_FILENO),
                        ::isatty(STDOUT_FILENO) == 1);
  TraceInput facts(history->again());
  Shell shell(**database, printer,
              [&facts](const QueryTable& table, const std::vector<std::string>& needs) {
                print_caveats(table, needs, facts);
              });
  if (command.shell) print_states(*history, StatesOf::notable);
  auto done = command.shell ? shell.run(stdin) : shell.run(command.sql);
  if (!done) return done;
  if (!command.shell) print_states(*history, StatesOf::notable);
  if (const std::string unmet = unmet_text(*selections, use, *history); !unmet.empty())
    print_stderr("ktracectl: nothing that the query reads is selected by {}\n",
                 printable(within_times(unmet, command.times)));
  return history->verdict();
}

}  // namespace ktraced
