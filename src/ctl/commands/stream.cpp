// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/print_stderr.h"
#include "base/text/plain_text.h"
#include "ctl/live/open_session.h"
#include "ctl/live/session_counts.h"
#include "ctl/live/stream_loop.h"
#include "ctl/printing/batch_printer.h"
#include "ctl/printing/event_counter.h"
#include "ctl/printing/output_format.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/screen.h"
#include "ctl/terminal/stop_signals.h"
#include "ctl/views/hints.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

namespace {

using Clock = StreamLoop::Clock;
using Next = StreamLoop::Next;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<> run_count(const StreamCommand& command, LiveSource& source, const StopSignals& signals) {
  auto packets = ReadAhead::start(source);
  if (!packets) return propagate(packets);
  EventCounter counter;
  SessionCounts counts(source.schema());
  Schema schema = source.schema();
  StreamLoop loop(**packets, signals.fd(), STDOUT_FILENO);
  auto start = Clock::now();
  auto end =
      loop.run(StreamLoop::duration_of(command.duration_s),
               {.on_packet = [&](const PacketView& packet, const auto&) -> Result<> {
                  counter.take(packet);
                  counts.take(packet);
                  if (packet.is_metadata())
                    packet.for_each_record([&](RecordView record) { learn_event(schema, record); });
                  return {};
                },
                .after_packets = [] { return Result<Next>(Next::go_on); }});
  if (!end) return propagate(end);
  auto summary = counter.summary(schema, seconds_since(start));
  if (const auto& total = counts.total()) {
    auto& session = summary["session"] = {{"recorded", total->recorded},
                                          {"filtered", total->filtered},
                                          {"dropped", total->dropped},
                                          {"missed", total->missed}};
    if (counts.reset_ns() != 0) session["reset_ts"] = counts.reset_ns();
  }
  auto written = write_all(STDOUT_FILENO, json_text(summary, -1));
  if (!written) return propagate(written);
  return StreamLoop::verdict_of(*end, counts.end_reason());
}

Result<StreamLoop::End> print_all(BatchPrinter& printer, SessionCounts& counts, StreamLoop& loop,
                                  std::optional<Clock::duration> duration) {
  Screen screen;
  auto enough = [&] { return screen.gone() || printer.full(); };
  auto end =
      loop.run(duration, {.on_packet = [&](const PacketView& packet,
                                           const std::shared_ptr<const void>& owner) -> Result<> {
                            counts.take(packet);
                            if (enough()) return {};
                            printer.take(packet, owner);
                            return screen.write(printer.out(), Screen::kLargePiece);
                          },
                          .after_packets = [&]() -> Result<Next> {
                            if (auto written = screen.write(printer.out(), 1); !written)
                              return propagate(written);
                            return enough() ? Next::stop : Next::go_on;
                          }});
  if (end && *end != StreamLoop::End::stopped) printer.finish();
  if (auto written = screen.write(printer.out(), 1); end && !written) return propagate(written);
  return end;
}

// The kernel has selected the events already, except for what it cannot select.
SelectionArgs left_to_select(const SelectionArgs& selection) {
  return {.tids = selection.tids,
          .cpus = selection.cpus,
          .errors = selection.errors,
          .where = selection.where};
}

// The options with which the kernel selects tasks and calls, as typed.
std::string kernel_options(const StreamCommand& command) {
  std::string text;
  const auto add = [&text](const char* option, const auto& values) {
    if (!values.empty()) text += fmt::format(" {} {}", option, fmt::join(values, ","));
  };
  add("--pid", command.selection.pids);
  add("--uid", command.selection.uids);
  add("--comm", command.selection.comms);
  add("--cgroup", command.session.cgroups);
  add("--follow", command.session.follow);
  add("--syscall", command.session.syscalls);
  return text.substr(std::min<size_t>(1, text.size()));
}

// The options that no event met; empty: there was no event at all. `selection`: what the kernel has
// not selected.
std::string unmet_options(const StreamCommand& command, const Selection& selection,
                          const SessionCounts& counts) {
  const SelectionUse& use = selection.use();
  if (use.selected_any) return {};
  if (!use.read_any)
    return counts.total() && counts.total()->filtered != 0 ? kernel_options(command) : "";
  return selection.unmet_text(use);
}

Result<> run_printing(const StreamCommand& command, const Options& options, LiveSource& source,
                      const StopSignals& signals) {
  auto left = left_to_select(command.selection);
  auto selection = Selection::make(left, source.schema());
  if (!selection) return propagate(selection);
  if (auto good = check_format_conditions(command, source.schema(), *selection); !good)
    return propagate(good);
  left.events = command.selection.events;
  if (auto good = Selection::make(left, source.schema()); !good) return propagate(good);
  Schema schema = source.schema();  // grows with the stream
  NameTable names;
  RemoteSymbols symbols(ask_daemon(options.socket));
  const StreamInfo& info = source.info();
  auto decoder =
      make_decoder(command, options.json,
                   {.schema = schema,
                    .names = names,
                    .symbols = &symbols,
                    .clock_offset_ns = static_cast<int64_t>(info.realtime_ns - info.boottime_ns)});
  BatchPrinter printer(schema, *selection, names, &symbols, *decoder, command.count);
  decoder->header(printer.out());
  auto packets = ReadAhead::start(source);
  if (!packets) return propagate(packets);
  StreamLoop loop(**packets, signals.fd(), STDOUT_FILENO);
  auto start = Clock::now();
  SessionCounts counts(source.schema());
  auto end = print_all(printer, counts, loop, StreamLoop::duration_of(command.duration_s));
  if (const std::string unmet = unmet_options(command, *selection, counts);
      printer.totals().shown == 0 && !unmet.empty())
    print_stderr("ktracectl: no event is selected by {}\n", printable(unmet));
  if (const std::string lost = counts.lost_names().text(); !lost.empty())
    print_stderr("ktracectl: {}\n", lost);
  print_stderr("ktracectl: {} events shown, {} lost{}, in {:.3f} s\n", printer.totals().shown,
               printer.totals().lost, counts_text(counts), seconds_since(start));
  if (!end) return propagate(end);
  return StreamLoop::verdict_of(*end, counts.end_reason());
}

void print_stream_hints(const StreamCommand& command, const Options& options,
                        const LiveSource& source) {
  auto client = RpcClient::connect(options.socket);
  if (!client) return;
  const auto named = Selection::make({.events = command.selection.events}, source.schema());
  const auto chosen = named ? named->chosen_events() : std::vector<std::string>();
  print_hints(*client, source.info().session, chosen, [&](const EventNames& enabled) {
    return nothing_to_show(command, source.schema(), chosen, enabled, Traced::now);
  });
}

}  // namespace

Result<> run_stream(const StreamCommand& typed, const Options& options) {
  auto seconds = stream_seconds(typed.duration_s, typed.times);
  if (!seconds) return propagate(seconds);
  StreamCommand command = typed;
  command.duration_s = *seconds;
  if (auto resolved = resolve_pids(options.socket, command.selection, command.session); !resolved)
    return resolved;
  auto signals = StopSignals::catch_signals();
  if (!signals) return propagate(signals);
  auto client = RpcClient::connect(options.socket);
  if (!client) return propagate(client);
  SelectionArgs selection = command.selection;
  selection.events = session_events(selection, command.session);
  auto source = open_session(std::move(*client), selection, command.session);
  if (!source) return propagate(source);
  print_stream_hints(command, options, *source);
  if (command.count_only) return run_count(command, *source, *signals);
  return run_printing(command, options, *source, *signals);
}

}  // namespace ktraced
