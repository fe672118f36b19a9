// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/trace_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "base/print_stderr.h"
#include "ctl/input/report_text.h"
#include "ctl/input/traced_events.h"
#include "decoders/text/safe_text.h"
#include "trace/directory/manifest_file.h"
#include "trace/packet/word_text.h"

namespace ktraced {

namespace {

// "recording of HOST, 2.000 s, complete", "snapshot of HOST, 0.990 s, 4.940 s on the CPU that
// reaches furthest back, complete". The content of a trace is not trusted.
std::string state_of(const TraceReader& trace) {
  const Manifest& manifest = trace.manifest();
  const std::string host = printable(manifest.origin.host);
  if (trace.unfinished()) return fmt::format("unfinished trace of {}", host);
  const TraceWindow window = window_of(manifest);
  std::vector<std::string> reasons = manifest.incomplete_because;
  if (!trace.damage().empty()) reasons.emplace_back("a part of it could not be read");
  return fmt::format(
      "{} of {}, {:.3f} s{}, {}", manifest.kind == TraceKind::snapshot ? "snapshot" : "recording",
      host, in_seconds(window.end_ns - window.begin_ns),
      window.differs() ? ", " + furthest_text(window.furthest_ns, window.end_ns) : "",
      printable(completeness_text(manifest.complete() && reasons.empty(), reasons)));
}

bool is_notable(const TraceReader& trace) {
  return trace.unfinished() || !trace.manifest().complete() ||
         window_of(trace.manifest()).differs();
}

// How many snapshots before one are named.
constexpr size_t kPreviousNamed = 8;

// The snapshot in the directory that this one names as its previous, if it ends where this one
// starts. The name comes from a manifest, which is not trusted.
std::optional<ManifestSummary> snapshot_before(const std::filesystem::path& directory,
                                               const Manifest& manifest) {
  const std::string& name = manifest.previous;
  if (name.empty() || name.contains('/') || name.starts_with('.')) return std::nullopt;
  const auto trace = TraceDirectory::open(directory / name);
  if (!trace) return std::nullopt;
  auto summary = read_manifest_summary(*trace);
  if (!summary || summary->manifest.origin.boot_id != manifest.origin.boot_id ||
      summary->manifest.end_ns != manifest.start_ns())
    return std::nullopt;
  return std::move(*summary);
}

// The options that select nothing, or nothing together.
std::string unmet_options(const History& history, const SelectionArgs& args, const TimeArgs& times,
                          const Selection& selection, const SelectionUse& use) {
  if (!use.read_any && !args.events.empty())
    return fmt::format("--event {}", fmt::join(args.events, ","));
  if (!use.read_any && !times.empty()) return typed_times(times);
  if (!use.read_any || use.selected_any) return "these options";
  return selection.unmet_text(use, known_tasks(history));
}

// The events that any of the traces describes or had enabled. Not every one is described in each:
// the schema of a trace of an earlier version has only those dynamic events that it has records of.
EventNames known_events(const History& history) {
  EventNames known;
  for (const TraceReader& trace : history.traces()) {
    for (const Event& event : trace.schema().events()) known.insert(event.name);
    if (auto traced = traced_events(trace)) known.merge(*traced);
  }
  return known;
}

}  // namespace

Result<std::vector<Selection>> selections_for(const History& history, const SelectionArgs& args) {
  std::vector<Selection> selections;
  const EventNames known = args.events.empty() ? EventNames() : known_events(history);
  for (const TraceReader& trace : history.traces()) {
    auto selection = Selection::make(args, trace.schema(), SchemaOf::trace, known);
    if (!selection) {
      selection.error().message =
          fmt::format("{}: {}", trace.path().string(), selection.error().message);
      return propagate(selection);
    }
    selections.push_back(std::move(*selection));
  }
  if (args.uids.size() > 1 || args.comms.size() > 1 || args.cgroups.size() > 1)
    for (const std::string& note : known_tasks(history).partly_unknown(args))
      print_stderr("ktracectl: {}\n", printable(note));
  return selections;
}

KnownTasks known_tasks(const History& history) {
  KnownTasks known;
  for (const TraceReader& trace : history.traces()) {
    known.add_tasks(trace.names());
    for (const CpuAccount& cpu : trace.manifest().cpus) known.add_cpu(cpu.cpu);
  }
  return known;
}

std::filesystem::path absolute_path(const std::filesystem::path& trace) {
  std::error_code failed;
  auto path = std::filesystem::absolute(trace, failed).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

void print_previous(const History& history) {
  if (history.traces().size() != 1) return;
  const TraceReader& trace = history.traces().front();
  const std::filesystem::path path = absolute_path(trace.path());
  if (path.empty()) return;
  const std::filesystem::path directory = path.parent_path();
  std::vector<std::string> names, paths = {path.string()};
  const Manifest* first = &trace.manifest();
  std::optional<ManifestSummary> before;
  while (names.size() < kPreviousNamed) {
    auto found = snapshot_before(directory, *first);
    if (!found) break;
    names.insert(names.begin(), first->previous);
    paths.insert(paths.begin(), (directory / first->previous).string());
    before = std::move(found);
    first = &before->manifest;
  }
  if (names.empty()) return;
  print_stderr("ktracectl: what came before is in {}: {}\n",
               printable(fmt::format("{}", fmt::join(names, ", "))),
               printable(show_command(paths)));
}

void print_states(const History& history, StatesOf which) {
  for (const TraceReader& trace : history.traces())
    if (which == StatesOf::all || is_notable(trace))
      print_stderr("ktracectl: {}: {}\n", printable(trace.path().string()), state_of(trace));
  if (which == StatesOf::all && history.repeated() != 0)
    print_stderr("ktracectl: {} events were in more than one trace and are counted once\n",
                 history.repeated());
  print_previous(history);
}

void print_frame_caveats(const FrameNames& files) {
  for (const std::string& caveat : frame_caveats(files))
    print_stderr("ktracectl: {}\n", printable(caveat));
}

void print_none_selected(const History& history, const SelectionArgs& args, const TimeArgs& times,
                         const Selection& selection, const SelectionUse& use, uint64_t lost) {
  print_stderr("ktracectl: no event is selected by {}{}\n",
               printable(within_times(unmet_options(history, args, times, selection, use), times)),
               lost == 0 ? std::string()
                         : fmt::format(", but {} events were lost that might have been", lost));
}

}  // namespace ktraced
