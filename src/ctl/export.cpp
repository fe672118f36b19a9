// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/export.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "base/print_stderr.h"
#include "ctl/event_printer.h"
#include "ctl/new_file.h"
#include "ctl/output.h"
#include "ctl/progress.h"
#include "ctl/scope_doubts.h"
#include "ctl/stop_signals.h"
#include "ctl/trace_texts.h"
#include "decoders/json_decoder.h"
#include "decoders/perfetto_writer.h"

namespace ktraced {

namespace {

// A form that events are written in.
class Exporter : public MergeSink {
 public:
  // What has been written so far and not been taken.
  [[nodiscard]] virtual std::string_view text() = 0;
  virtual void clear() = 0;
  // No more events come.
  virtual void finish() {}
  // Events written and lost.
  [[nodiscard]] virtual EventAccount total() const = 0;
};

// What is chosen of each trace, and what its addresses are called.
struct Choice {
  Selection selection;
  KeptSymbols symbols;
};

class JsonExporter : public Exporter {
 public:
  JsonExporter(const History& history, std::vector<Choice>& choices) {
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

class PerfettoExporter : public Exporter {
 public:
  PerfettoExporter(const History& history, std::vector<Choice>& choices)
      : history_(history), choices_(choices), writer_(sources_of(history, choices)) {
    for (const TraceReader& trace : history.traces()) {
      const Event* event = trace.schema().find("sched_switch");
      switches_.push_back(event != nullptr ? event->id : 0);
    }
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (!wants(from, record)) return writer_.skip(from, record);
    writer_.on_record(from, record);
    ++total_.records;
  }
  void on_loss(const LossItem& loss) override {
    if (!choices_[loss.source].selection.wants_event(loss.event_id)) return;
    writer_.on_loss(loss);
    total_.lost += loss.count;
  }
  std::string_view text() override { return writer_.out(); }
  void clear() override { writer_.out().clear(); }
  void finish() override { writer_.finish(); }
  [[nodiscard]] EventAccount total() const override { return total_; }

 private:
  static std::vector<PerfettoSource> sources_of(const History& history,
                                                std::vector<Choice>& choices) {
    std::vector<PerfettoSource> sources;
    for (size_t i = 0; i < choices.size(); ++i) {
      const TraceReader& trace = history.traces()[i];
      sources.push_back({.sources = {trace.schema(), trace.names(), &choices[i].symbols},
                         .manifest = trace.manifest(),
                         .begin_ns = trace.begin_ns(),
                         .end_ns = trace.end_ns(),
                         .changes = changes_of(trace)});
    }
    return sources;
  }
  static std::vector<uint64_t> changes_of(const TraceReader& trace) {
    std::vector<uint64_t> changes;
    for (const ScopeSpan& span :
         spans_of(trace.manifest().config, trace.begin_ns(), trace.end_ns()))
      if (span.begin_ns > trace.begin_ns()) changes.push_back(span.begin_ns);
    return changes;
  }
  // Who runs is drawn from one switch of a CPU to the next: without those of other tasks, each
  // chosen one would seem to be followed by a task that never ends.
  bool wants(const RecordOrigin& from, RecordView record) const {
    const Selection& selection = choices_[from.source].selection;
    if (record.id() == switches_[from.source]) return selection.wants_event(record.id());
    return selection.wants(from.cpu, record, history_.traces()[from.source].names());
  }

  const History& history_;
  const std::vector<Choice>& choices_;
  std::vector<uint16_t> switches_;  // of each trace, the number of sched_switch
  PerfettoWriter writer_;
  EventAccount total_;
};

Result<std::vector<Choice>> make_choices(const ExportCommand& command, const History& history) {
  std::vector<Choice> choices;
  for (const TraceReader& trace : history.traces()) {
    auto selection = selection_for(trace, command.selection);
    if (!selection) return pass_on(selection);
    choices.push_back({std::move(*selection), KeptSymbols(trace.symbols())});
  }
  return choices;
}

// Where an export goes: a new file, or standard output.
class Target {
 public:
  static Result<Target> open(const std::string& name, const FileAccess& access) {
    if (name == "-") return Target(std::nullopt);
    auto file = NewFile::create(name, access);
    if (!file) return pass_on(file);
    return Target(std::move(*file));
  }
  Result<> write(std::string_view bytes) {
    bytes_ += bytes.size();
    if (file_) return file_->write(bytes);
    auto written = write_all(STDOUT_FILENO, bytes);
    if (!written) return pass_on(written);
    gone_ = !*written;
    return {};
  }
  Result<> finish() { return file_ ? file_->finish() : Result<>(); }
  // Nobody reads standard output any more.
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  explicit Target(std::optional<NewFile> file) : file_(std::move(file)) {}

  std::optional<NewFile> file_;
  uint64_t bytes_ = 0;
  bool gone_ = false;
};

bool is_readable(int fd) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, 0) > 0;
}

Result<> write_out(Exporter& exporter, size_t at_least, Target& target) {
  if (exporter.text().size() < at_least || target.gone()) return {};
  auto written = target.write(exporter.text());
  exporter.clear();
  return written;
}

// Reads it all, unless it is stopped: then the file is removed.
Result<> export_all(History& history, Exporter& exporter, Target& target) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kLargePiece = 256U << 10;  // worth a write of its own, in bytes
  auto signals = StopSignals::catch_signals();
  if (!signals) return pass_on(signals);
  Progress progress;
  auto next = Clock::now() + Progress::kInterval;
  while (!target.gone() && history.read(exporter)) {
    if (is_readable(signals->fd()))
      return fail(ExitCode::io, "stopped by a signal: the export is not whole");
    if (auto written = write_out(exporter, kLargePiece, target); !written) return written;
    if (Clock::now() < next) continue;
    progress.update(exporter.total(), target.bytes());
    next = Clock::now() + Progress::kInterval;
  }
  exporter.finish();
  if (auto written = write_out(exporter, 1, target); !written) return written;
  return target.finish();
}

}  // namespace

Result<> run_export(const ExportCommand& command, const Options& /*options*/) {
  const bool binary = command.form == ExportCommand::Form::perfetto;
  if (binary && command.output == "-" && ::isatty(STDOUT_FILENO) == 1)
    return fail(ExitCode::usage, "a Perfetto trace is not for a terminal: give -o FILE");
  const std::vector<std::filesystem::path> directories(command.directories.begin(),
                                                       command.directories.end());
  auto history = History::open(directories, command.partial);
  if (!history) return pass_on(history);
  auto choices = make_choices(command, *history);
  if (!choices) return pass_on(choices);
  auto target = Target::open(command.output, access_of_traces(command.directories));
  if (!target) return pass_on(target);
  std::unique_ptr<Exporter> exporter;
  if (binary)
    exporter = std::make_unique<PerfettoExporter>(*history, *choices);
  else
    exporter = std::make_unique<JsonExporter>(*history, *choices);
  const auto start = std::chrono::steady_clock::now();
  if (auto done = export_all(*history, *exporter, *target); !done) return done;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  print_stderr("ktracectl: {} events exported, {} lost, {} bytes, in {:.3f} s\n",
               exporter->total().records, exporter->total().lost, target->bytes(), seconds.count());
  print_states(*history);
  return history->verdict();
}

}  // namespace ktraced
