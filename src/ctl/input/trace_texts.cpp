// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/trace_texts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/print_stderr.h"
#include "ctl/selection/cgroup_note.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

namespace {

// "recording of HOST, 2.000 s, complete". The content of a trace is not trusted.
std::string state_of(const TraceReader& trace) {
  const Manifest& manifest = trace.manifest();
  const std::string host = printable(manifest.origin.host);
  if (trace.unfinished()) return fmt::format("unfinished trace of {}", host);
  const uint64_t begin = std::min(manifest.begin_ns, manifest.end_ns);
  std::vector<std::string> reasons = manifest.incomplete_because;
  if (!trace.damage().empty()) reasons.emplace_back("a part of it could not be read");
  return fmt::format("{} of {}, {:.3f} s, {}",
                     manifest.kind == TraceKind::snapshot ? "snapshot" : "recording", host,
                     static_cast<double>(manifest.end_ns - begin) / 1e9,
                     manifest.complete() && reasons.empty()
                         ? "complete"
                         : "incomplete: " + printable(fmt::format("{}", fmt::join(reasons, "; "))));
}

}  // namespace

Result<Selection> selection_for(const TraceReader& trace, const SelectionArgs& args) {
  auto selection = Selection::make(args, trace.schema(), SchemaOf::trace);
  if (!selection)
    selection.error().message =
        fmt::format("{}: {}", trace.path().string(), selection.error().message);
  for (const std::string& note : cgroup_notes(args.cgroups, trace.names()))
    print_stderr("ktracectl: {}: {}\n", printable(trace.path().string()), printable(note));
  return selection;
}

void print_incomplete(const History& history) {
  for (const TraceReader& trace : history.traces())
    if (trace.unfinished() || !trace.manifest().complete())
      print_stderr("ktracectl: {}: {}\n", printable(trace.path().string()), state_of(trace));
}

void print_states(const History& history) {
  for (const TraceReader& trace : history.traces())
    print_stderr("ktracectl: {}: {}\n", printable(trace.path().string()), state_of(trace));
  if (history.repeated() != 0)
    print_stderr("ktracectl: {} events were in more than one trace and are counted once\n",
                 history.repeated());
}

void print_none_selected(uint64_t lost, const std::vector<std::string>& hints) {
  print_stderr("ktracectl: no event is selected by these options{}\n",
               lost == 0
                   ? std::string()
                   : fmt::format(", but {} events were lost that they may have selected", lost));
  for (const std::string& hint : hints) print_stderr("ktracectl: {}\n", printable(hint));
}

}  // namespace ktraced
