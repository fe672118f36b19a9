// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "analysis/stacks/trace_stacks.h"
#include "base/print_stderr.h"
#include "ctl/archive/open_history.h"
#include "ctl/input/trace_texts.h"
#include "ctl/input/traced_events.h"
#include "ctl/printing/event_counter.h"
#include "ctl/printing/event_printer.h"
#include "ctl/printing/output_format.h"
#include "ctl/reports/stack_reports.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/screen.h"
#include "decoders/symbols/frame_namer.h"
#include "decoders/text/event_stacks.h"
#include "decoders/text/safe_text.h"
#include "trace/merge/history.h"

namespace ktraced {

namespace {

constexpr double kNsPerSecond = 1e9;

// The decoder of one trace: each trace has its own schema and names.
struct View {
  Selection selection;
  KeptSymbols symbols;
  std::unique_ptr<EventStacks> stacks;  // null: they are not shown
  std::unique_ptr<Decoder> decoder;
};

// Pointers, because the decoders refer to the symbols in the same object.
using Views = std::vector<std::unique_ptr<View>>;

// A trace without a clock offset has no wall-clock times.
Result<> check_time_form(const ShowCommand& command, const TraceReader& trace) {
  if (command.time != TimeForm::wall && command.time != TimeForm::iso) return {};
  if (trace.manifest().origin.clock_offset_ns != 0) return {};
  return fail(ExitCode::usage,
              "{}: the trace does not say what the wall clock was: use --time boot or delta",
              trace.path().string());
}

// `stacks` and `files` must outlive the result.
Result<Views> make_views(const ShowCommand& command, bool json, const History& history,
                         const TraceStacks& stacks, FrameNames& files) {
  Views views;
  auto selections = selections_for(history, command.selection);
  if (!selections) return propagate(selections);
  for (size_t i = 0; i < selections->size(); ++i) {
    const TraceReader& trace = history.traces()[i];
    Selection& selection = (*selections)[i];
    if (auto good = check_time_form(command, trace); !good) return propagate(good);
    if (auto good = check_format_conditions(command, trace.schema(), selection); !good)
      return propagate(good);
    auto view = std::make_unique<View>(
        View{std::move(selection), KeptSymbols(trace.symbols()), nullptr, nullptr});
    if (command.stacks)
      view->stacks = std::make_unique<EventStacks>(
          stacks, frame_namer([&symbols = view->symbols](
                                  uint64_t address) { return symbols.resolve(address); },
                              files));
    view->decoder = make_decoder(command, json,
                                 {.schema = trace.schema(),
                                  .names = trace.names(),
                                  .symbols = &view->symbols,
                                  .clock_offset_ns = trace.manifest().origin.clock_offset_ns,
                                  .stacks = view->stacks.get()});
    views.push_back(std::move(view));
  }
  return views;
}

SelectionUse use_of(const Views& views) {
  SelectionUse use;
  for (const auto& view : views) use.add(view->selection.use());
  return use;
}

// Prints a message for each trace that has no events for the requested format.
void print_nothing_to_show(const ShowCommand& command, const Views& views, const History& history) {
  std::set<std::string> printed;
  for (size_t i = 0; i < views.size(); ++i) {
    const TraceReader& trace = history.traces()[i];
    const auto traced = traced_events(trace);
    if (!traced) continue;
    const auto problem = nothing_to_show(
        command, trace.schema(), views[i]->selection.chosen_events(), *traced, Traced::in_the_past);
    if (problem && printed.insert(*problem).second)
      print_stderr("ktracectl: {}: {}\n", printable(trace.path().string()), printable(*problem));
  }
}

Result<> print_events(const ShowCommand& command, const Views& views, History& history) {
  EventPrinter::Limits limits{.events = command.count, .ns = std::nullopt};
  if (command.duration_s)
    limits.ns = static_cast<uint64_t>(std::min(*command.duration_s, 1e9) * kNsPerSecond);
  EventPrinter printer(limits);
  for (size_t i = 0; i < views.size(); ++i)
    printer.add_source({.selection = views[i]->selection,
                        .names = history.traces()[i].names(),
                        .decoder = *views[i]->decoder});
  views.front()->decoder->header(printer.out());
  Screen screen;
  auto start = std::chrono::steady_clock::now();
  while (!printer.full() && !screen.gone() && history.read(printer))
    if (auto written = screen.write(printer.out(), Screen::kLargePiece); !written) return written;
  if (auto written = screen.write(printer.out(), 1); !written) return written;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (printer.totals().shown == 0 && (!command.selection.empty() || !command.times.empty()))
    print_none_selected(history, command.selection, command.times, views.front()->selection,
                        use_of(views), printer.totals().lost);
  print_stderr("ktracectl: {} events shown, {} lost, in {:.3f} s\n", printer.totals().shown,
               printer.totals().lost, seconds.count());
  return {};
}

// Counts the events of each trace separately: each schema has its own event ids.
class Counters : public MergeSink {
 public:
  explicit Counters(size_t traces) : counters_(traces) {}
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (first_ts_ == 0) first_ts_ = record.ts();
    last_ts_ = record.ts();
    counters_[from.source].add(record);
  }
  void on_loss(const LossItem& loss) override { counters_[loss.source].lose(loss.count); }

  // The counts of all traces together, in the form of EventCounter::summary().
  [[nodiscard]] nlohmann::json summary(const History& history) const {
    const double seconds = static_cast<double>(last_ts_ - first_ts_) / kNsPerSecond;
    nlohmann::json sum = EventCounter().summary(history.traces().front().schema(), seconds);
    for (size_t i = 0; i < counters_.size(); ++i) {
      auto part = counters_[i].summary(history.traces()[i].schema(), seconds);
      for (const char* key : {"events", "lost"})
        sum[key] = sum[key].get<uint64_t>() + part[key].get<uint64_t>();
      for (const auto& [name, count] : part["by_event"].items())
        sum["by_event"][name] = sum["by_event"].value(name, uint64_t{0}) + count.get<uint64_t>();
    }
    return sum;
  }

 private:
  std::vector<EventCounter> counters_;
  uint64_t first_ts_ = 0;
  uint64_t last_ts_ = 0;
};

Result<> print_counts(History& history) {
  Counters counters(history.traces().size());
  while (history.read(counters)) {
  }
  auto written = write_all(STDOUT_FILENO, json_text(counters.summary(history), -1));
  if (!written) return propagate(written);
  return {};
}

}  // namespace

Result<> run_show(const ShowCommand& command, const Options& options) {
  auto history = open_history(command.directories, command.partial);
  if (!history) return propagate(history);
  if (auto selected = select_times(command.times, *history); !selected) return selected;
  TraceStacks stacks;
  const std::atomic<bool> never = false;
  if (command.stacks) static_cast<void>(stacks.read_all(*history, never));
  FrameNames files(file_options(command.frames));
  auto views = make_views(command, options.json, *history, stacks, files);
  if (!views) return propagate(views);
  auto shown =
      command.count_only ? print_counts(*history) : print_events(command, *views, *history);
  if (!shown) return shown;
  StackEnds ends;
  for (const auto& view : *views)
    if (view->stacks) ends += view->stacks->ends();
  print_stack_ends(ends);
  print_frame_caveats(files);
  if (!command.count_only) print_nothing_to_show(command, *views, *history);
  print_states(*history, StatesOf::all);
  return history->verdict();
}

}  // namespace ktraced
