// SPDX-License-Identifier: BSD-2-Clause
#include <unistd.h>

#include <filesystem>

#include "base/print_stderr.h"
#include "base/text/plain_text.h"
#include "ctl/archive/pack.h"
#include "ctl/commands/commands.h"
#include "ctl/input/trace_texts.h"
#include "ctl/terminal/table.h"
#include "trace/directory/trace_reader.h"

namespace ktraced {
namespace {

std::string done_text(const std::string& output, uint64_t from_bytes, uint64_t to_bytes) {
  const std::string sizes =
      fmt::format("{} of files in {}", bytes_text(from_bytes), bytes_text(to_bytes));
  if (output == "-") return sizes;
  return fmt::format("{}: {}; 'show', 'report', 'query' and 'export' read it on any machine",
                     printable(output), sizes);
}

}  // namespace

Result<> run_archive(const ArchiveCommand& command, const Options& /*options*/) {
  const std::string& directory = command.directories.front();
  auto trace = TraceReader::find(directory);
  if (!trace) return propagate(trace);
  const std::string name = absolute_path(trace->path()).filename();
  const std::string output = command.output.empty() ? name + ".tar.zst" : command.output;
  if (output == "-" && ::isatty(STDOUT_FILENO) == 1)
    return fail(ExitCode::usage, "an archive is not for a terminal: give -o FILE");
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  auto target = OutputTarget::open(output, access_of_traces({directory}));
  if (!target) return propagate(target);
  auto bytes = pack_trace(*trace, name, *target, *signals);
  if (!bytes) return propagate(bytes);
  if (auto finished = target->finish(); !finished) return finished;
  if (!target->gone()) print_stderr("ktracectl: {}\n", done_text(output, *bytes, target->bytes()));
  return {};
}

}  // namespace ktraced
