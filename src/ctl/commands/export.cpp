// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/stacks/trace_stacks.h"
#include "base/print_stderr.h"
#include "ctl/archive/open_history.h"
#include "ctl/exports/exporter.h"
#include "ctl/exports/folded_exporter.h"
#include "ctl/exports/trace_dat_exporter.h"
#include "ctl/input/config_caveats.h"
#include "ctl/input/trace_texts.h"
#include "ctl/printing/event_printer.h"
#include "ctl/reports/stack_reports.h"
#include "ctl/terminal/output_target.h"
#include "ctl/terminal/progress.h"
#include "ctl/terminal/spool_file.h"
#include "ctl/terminal/stop_signals.h"
#include "decoders/json/json_decoder.h"
#include "decoders/perfetto/perfetto_writer.h"

namespace ktraced {

namespace {

constexpr size_t kLargePiece = 256U << 10;  // minimum size of a write, in bytes

// Keeps its output in memory until there is enough for a write.
class BufferedExporter : public Exporter {
 public:
  Result<> write(OutputTarget& target) override { return write_out(kLargePiece, target); }
  Result<> finish(OutputTarget& target) override {
    end();
    return write_out(1, target);
  }

 protected:
  // The text written so far that has not been taken.
  [[nodiscard]] virtual std::string_view text() = 0;
  virtual void clear() = 0;
  // No more events come.
  virtual void end() {}

 private:
  Result<> write_out(size_t at_least, OutputTarget& target) {
    if (text().size() < at_least || target.gone()) return {};
    auto written = target.write(text());
    clear();
    return written;
  }
};

class JsonExporter : public BufferedExporter {
 public:
  JsonExporter(const History& history, std::vector<ExportChoice>& choices) {
    for (size_t i = 0; i < choices.size(); ++i) {
      const TraceReader& trace = history.traces()[i];
      decoders_.push_back(std::make_unique<JsonDecoder>(
          DecoderSources{trace.schema(), trace.names(), &choices[i].symbols}));
      printer_.add_source({.selection = choices[i].selection,
                           .names = trace.names(),
                           .decoder = *decoders_.back()});
    }
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    printer_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override { printer_.on_loss(loss); }
  std::string_view text() override { return printer_.out().view(); }
  void clear() override { printer_.out().clear(); }
  [[nodiscard]] EventAccount total() const override {
    return {.records = printer_.totals().shown, .lost = printer_.totals().lost};
  }

 private:
  std::vector<std::unique_ptr<Decoder>> decoders_;
  EventPrinter printer_{{}};
};

class PerfettoExporter : public BufferedExporter {
 public:
  PerfettoExporter(History& history, std::vector<ExportChoice>& choices, const TraceStacks& stacks,
                   FrameNames& files)
      : history_(history), choices_(choices), writer_(sources_of(history, choices), stacks, files) {
    for (const TraceReader& trace : history.traces()) {
      const Event* event = trace.schema().find("sched_switch");
      switches_.push_back(event != nullptr ? event->id : 0);
    }
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    const bool selected = is_selected(from, record);
    if (!selected && !is_drawn(from, record)) return writer_.skip(from, record);
    writer_.on_record(from, record);
    if (selected) ++total_.records;
  }
  void on_loss(const LossItem& loss) override {
    if (!choices_[loss.source].selection.wants_loss(loss.cpu, loss.event_id)) return;
    writer_.on_loss(loss);
    total_.lost += loss.count;
  }
  std::string_view text() override { return writer_.out(); }
  void clear() override { writer_.out().clear(); }
  void end() override { writer_.finish(); }
  [[nodiscard]] EventAccount total() const override { return total_; }
  [[nodiscard]] const StackEnds* stack_ends() const override { return &writer_.stack_ends(); }

 private:
  static std::vector<PerfettoSource> sources_of(History& history,
                                                std::vector<ExportChoice>& choices) {
    std::vector<PerfettoSource> sources;
    for (size_t i = 0; i < choices.size(); ++i) {
      const TraceReader& trace = history.traces()[i];
      const TimeWindow& window = history.window();
      const TimeWindow extent =
          trace.unfinished() ? history.extent(i) : TimeWindow{trace.begin_ns(), trace.end_ns()};
      sources.push_back({.sources = {trace.schema(), trace.names(), &choices[i].symbols},
                         .manifest = trace.manifest(),
                         .begin_ns = std::max(extent.begin_ns, window.begin_ns),
                         .end_ns = std::min(extent.end_ns, window.end_ns),
                         .changes = changes_of(trace, window)});
    }
    return sources;
  }
  static std::vector<uint64_t> changes_of(const TraceReader& trace, const TimeWindow& window) {
    std::vector<uint64_t> changes;
    for (const ConfigSpan& span :
         spans_of(trace.manifest().config, trace.begin_ns(), trace.end_ns()))
      if (span.begin_ns > trace.begin_ns() && window.contains(span.begin_ns))
        changes.push_back(span.begin_ns);
    return changes;
  }
  bool is_selected(const RecordOrigin& from, RecordView record) const {
    return choices_[from.source].selection.wants(from.cpu, record,
                                                 history_.traces()[from.source].names());
  }
  // Running threads are drawn from one switch of a CPU to the next. Without the switches to other
  // tasks, a selected task would seem to be followed by one that never ends.
  bool is_drawn(const RecordOrigin& from, RecordView record) const {
    return record.id() == switches_[from.source] &&
           choices_[from.source].selection.wants_event(record.id());
  }

  const History& history_;
  const std::vector<ExportChoice>& choices_;
  std::vector<uint16_t> switches_;  // of each trace, the number of sched_switch
  PerfettoWriter writer_;
  EventAccount total_;
};

Result<std::vector<ExportChoice>> make_choices(const ExportCommand& command,
                                               const History& history) {
  auto selections = selections_for(history, command.selection);
  if (!selections) return propagate(selections);
  std::vector<ExportChoice> choices;
  choices.reserve(selections->size());
  for (size_t i = 0; i < selections->size(); ++i)
    choices.push_back({std::move((*selections)[i]), KeptSymbols(history.traces()[i].symbols())});
  return choices;
}

SelectionUse use_of(const std::vector<ExportChoice>& choices) {
  SelectionUse use;
  for (const ExportChoice& choice : choices) use.add(choice.selection.use());
  return use;
}

// Reads it all, unless it is stopped: then the file is removed.
Result<> export_all(History& history, Exporter& exporter, OutputTarget& target) {
  using Clock = std::chrono::steady_clock;
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  Progress progress;
  auto next = Clock::now() + Progress::kInterval;
  while (!target.gone() && history.read(exporter)) {
    if (signals->stopped())
      return fail(ExitCode::io, "stopped by a signal: the export is incomplete");
    if (auto written = exporter.write(target); !written) return written;
    if (Clock::now() < next) continue;
    progress.update(exporter.total(), target.bytes());
    next = Clock::now() + Progress::kInterval;
  }
  if (auto written = exporter.finish(target); !written) return written;
  return target.finish();
}

// On the disk that gets the file.
std::filesystem::path spool_directory(const std::string& output) {
  if (output == "-") return temporary_directory();
  const auto parent = std::filesystem::path(output).parent_path();
  return parent.empty() ? "." : parent;
}

// `stacks` and `files` must outlive the result.
std::unique_ptr<Exporter> make_exporter(const ExportCommand& command, History& history,
                                        std::vector<ExportChoice>& choices,
                                        const TraceStacks& stacks, FrameNames& files) {
  switch (command.form) {
    case ExportCommand::Form::folded:
      return std::make_unique<FoldedExporter>(history, choices, stacks, files,
                                              !command.selection.events.empty());
    case ExportCommand::Form::json:
      return std::make_unique<JsonExporter>(history, choices);
    case ExportCommand::Form::trace_dat:
      return std::make_unique<TraceDatExporter>(history, choices, spool_directory(command.output));
    case ExportCommand::Form::perfetto:
      break;
  }
  return std::make_unique<PerfettoExporter>(history, choices, stacks, files);
}

}  // namespace

Result<> run_export(const ExportCommand& command, const Options& /*options*/) {
  using Form = ExportCommand::Form;
  const bool binary = command.form == Form::perfetto || command.form == Form::trace_dat;
  if (binary && command.output == "-" && ::isatty(STDOUT_FILENO) == 1)
    return fail(ExitCode::usage, "a trace of this form is not for a terminal: give -o FILE");
  auto history = open_history(command.directories, command.partial);
  if (!history) return propagate(history);
  if (auto selected = select_times(command.times, *history); !selected) return selected;
  auto choices = make_choices(command, *history);
  if (!choices) return propagate(choices);
  auto target = OutputTarget::open(command.output, access_of_traces(command.directories));
  if (!target) return propagate(target);
  TraceStacks stacks;
  const bool has_stacks = std::ranges::any_of(
      history->traces(), [](const TraceReader& trace) { return trace.schema().stacks; });
  const std::atomic<bool> never = false;
  if (has_stacks && (command.form == Form::perfetto || command.form == Form::folded))
    static_cast<void>(stacks.read_all(*history, never));
  FrameNames files(file_options(command.frames));
  auto exporter = make_exporter(command, *history, *choices, stacks, files);
  const auto start = std::chrono::steady_clock::now();
  if (auto done = export_all(*history, *exporter, *target); !done) return done;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (exporter->total().records == 0 && (!command.selection.empty() || !command.times.empty()))
    print_none_selected(*history, command.selection, command.times, choices->front().selection,
                        use_of(*choices), exporter->total().lost);
  if (exporter->total().records == 0 && command.form == Form::folded &&
      command.selection.events.empty())
    print_stderr(
        "ktracectl: the traces have no samples; --event takes the stacks of other events\n");
  print_stderr("ktracectl: {} events exported, {} lost, {} bytes, in {:.3f} s\n",
               exporter->total().records, exporter->total().lost, target->bytes(), seconds.count());
  if (const StackEnds* ends = exporter->stack_ends()) print_stack_ends(*ends);
  print_frame_caveats(files);
  print_states(*history, StatesOf::all);
  return history->verdict();
}

}  // namespace ktraced
