// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/coverage/trace_config.h"
#include "analysis/reports/fan_out.h"
#include "analysis/stacks/call_stacks.h"
#include "analysis/stacks/stack_account.h"
#include "analysis/stacks/trace_stacks.h"
#include "base/print_stderr.h"
#include "base/text/c_text.h"
#include "ctl/input/report_input.h"
#include "ctl/input/report_text.h"
#include "ctl/input/selected_input.h"
#include "ctl/input/session_request.h"
#include "ctl/input/trace_input.h"
#include "ctl/input/traced_events.h"
#include "ctl/live/live_input.h"
#include "ctl/live/open_session.h"
#include "ctl/reports/file_report.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/reports/process_report.h"
#include "ctl/reports/report_frames.h"
#include "ctl/reports/sched_report.h"
#include "ctl/reports/stack_reports.h"
#include "ctl/reports/summary_report.h"
#include "ctl/reports/syscall_report.h"
#include "ctl/reports/wakeup_report.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/terminal.h"
#include "decoders/symbols/frame_namer.h"
#include "schema/names.h"

namespace ktraced {

// The inputs of all reports. `facts` is filled in.
struct ReportMaking {
  const ReportCommand& command;
  ReportInput& input;
  ReportFacts& facts;
  ReportFrames* frames;  // that show it while events are read; null: none
};

namespace {

using nlohmann::json;

std::string frame_text(const ReportMaking& making, json report);

// Reads all events into `analysis`. `make` finishes it and returns the report on the events read so
// far: here at the end, for frames earlier, but in a copy of this process. `prepare` is always
// called here before: what it learns is known to all later copies.
Result<json> read_and_make(
    const ReportMaking& making, Analysis& analysis, const std::function<json()>& make,
    const std::function<void()>& prepare = [] {}) {
  if (making.frames != nullptr) {
    Refresh refresh =
        making.frames->refresh([&making, &make] { return frame_text(making, make()); });
    refresh.draw = [draw = std::move(refresh.draw), &prepare] {
      prepare();
      return draw();
    };
    making.input.refresh(refresh);
  }
  if (auto read = making.input.read(analysis); !read) return propagate(read);
  prepare();
  return make();
}

// Reads all events into `analysis`, and the stacks that they have. `sums` counts the events by
// these; `make` and `prepare` as above.
Result<json> read_with_stacks(
    const ReportMaking& making, Analysis& analysis, const StackSums& sums,
    const std::function<json(const TraceStacks& stacks, const FrameNamer& namer)>& make,
    const std::function<void()>& prepare = [] {}) {
  TraceStacks stacks;
  FanOut both({&stacks, &analysis});
  FrameNames files(file_options(making.command.frames));
  const FrameNamer namer =
      frame_namer([&making](uint64_t address) { return making.input.symbol(address); }, files);
  return read_and_make(
      making, both,
      [&] {
        if (sums.may_lack(stacks.table())) making.input.read_stacks(stacks);
        json report = make(stacks, namer);
        std::ranges::move(frame_caveats(files), std::back_inserter(making.facts.caveats));
        return report;
      },
      [&] {
        prepare();
        making.input.add_files(stacks);
        std::vector<uint64_t> addresses;
        stacks.table().for_each([&](uint64_t, const Stack& stack) {
          if (stack.kind != StackKind::kernel) return;
          for (const uint64_t frame : stack.frames)
            addresses.insert(addresses.end(), {frame, frame - 1});  // as frame_namer() asks
        });
        making.input.find_symbols(addresses);
      });
}

Result<json> cpu(const ReportMaking& making) {
  CpuSampleAnalysis analysis(stacks_by(making.command));
  return read_with_stacks(making, analysis, analysis.sums(),
                          [&](const TraceStacks& stacks, const FrameNamer& namer) {
                            making.facts = making.input.facts(kCpuNeeds);
                            return cpu_report(analysis, stacks, namer, making.command);
                          });
}

Result<json> off_cpu(const ReportMaking& making) {
  OffCpuAnalysis analysis(stacks_by(making.command));
  return read_with_stacks(making, analysis, analysis.sums(),
                          [&](const TraceStacks& stacks, const FrameNamer& namer) {
                            making.facts = making.input.facts(kOffCpuNeeds);
                            analysis.finish(making.facts.end_ns);
                            return off_cpu_report(analysis, stacks, namer, making.command);
                          });
}

Result<json> summary(const ReportMaking& making) {
  SummaryAnalysis analysis;
  StackAccount account;
  FanOut both({&account, &analysis});
  return read_and_make(making, both, [&] {
    making.facts = making.input.facts({});
    json report = summary_report(analysis, making.command, making.facts);
    TraceStacks outside;
    if (account.lacks_any()) making.input.read_stacks(outside);
    add_stack_account(report, account, outside.table());
    return report;
  });
}

Result<json> processes(const ReportMaking& making) {
  ProcessAnalysis analysis;
  return read_and_make(making, analysis, [&] {
    making.facts = process_facts(making.input);
    if (const auto tasks = making.input.lives(false)) analysis.complete(*tasks);
    analysis.finish(making.facts.end_ns);
    return process_report(analysis, making.command, making.facts);
  });
}

Result<json> files(const ReportMaking& making) {
  FileAnalysis analysis;
  CallPaths calls(analysis);
  return read_and_make(making, calls, [&] {
    making.facts = making.input.facts(kFileNeeds);
    calls.finish(making.facts.end_ns);
    return file_report(analysis, calls, making.command);
  });
}

Result<json> kmem(const ReportMaking& making) {
  KmemAnalysis analysis;
  const auto make = [&] {
    making.facts = making.input.facts(events_that_free(analysis));
    analysis.finish(making.facts.end_ns, making.facts.whole_since_ns);
    return kmem_report(analysis, making.command,
                       [&making](uint64_t address) { return making.input.symbol(address); });
  };
  const auto find_call_sites = [&] { making.input.find_symbols(call_sites_of(analysis)); };
  if (!making.command.stacks) return read_and_make(making, analysis, make, find_call_sites);
  StackSums sums(stacks_by(making.command));
  analysis.set_stacks(sums);
  return read_with_stacks(
      making, analysis, sums,
      [&](const TraceStacks& stacks, const FrameNamer& namer) {
        json report = make();
        add_kmem_stacks(report, analysis, sums, stacks, namer, making.command);
        return report;
      },
      find_call_sites);
}

Result<json> sched(const ReportMaking& making) {
  SchedAnalysis analysis(making.command.single_events());
  return read_and_make(making, analysis, [&] {
    making.facts = making.input.facts(kSchedNeeds);
    analysis.finish(making.facts.end_ns);
    return sched_report(analysis, making.command);
  });
}

Result<json> syscalls(const ReportMaking& making) {
  CallTracker calls;
  SyscallAnalysis analysis(calls, making.command.single_events());
  const auto make = [&] {
    making.facts = making.input.facts(kSyscallNeeds);
    calls.finish(making.facts.end_ns);
    return syscall_report(analysis, making.command);
  };
  if (!making.command.stacks) return read_and_make(making, calls, make);
  CallStacks by_stack(calls, stacks_by(making.command),
                      [name = making.command.stacks_of](uint32_t abi, int32_t nr) {
                        return syscall_name(abi, nr) == name;
                      });
  return read_with_stacks(making, calls, by_stack.sums(),
                          [&](const TraceStacks& stacks, const FrameNamer& namer) {
                            json report = make();
                            add_call_stacks(report, by_stack, stacks, namer, making.command);
                            return report;
                          });
}

Result<json> wakeups(const ReportMaking& making) {
  WakeupAnalysis analysis(wakeup_targets(making.command.who), making.command.single_events());
  auto report = read_and_make(making, analysis, [&] {
    making.facts = making.input.facts(kWakeupNeeds);
    analysis.finish(making.facts.end_ns);
    return wakeup_report(analysis, making.command);
  });
  // A stream has the names of those threads only that it has events of.
  if (report && !making.command.live && making.input.verdict())
    if (auto known = check_wakeup_targets(analysis, making.command.who); !known)
      return propagate(known);
  return report;
}

constexpr std::string_view kFileUses[] = {
    "sys_enter",     "sys_exit",           "sys_enter_string",  "sys_exit_string",
    "sys_completed", "sched_process_exec", "sched_process_exit"};
constexpr std::string_view kKmemUses[] = {"kmalloc",         "kfree",         "kmem_cache_alloc",
                                          "kmem_cache_free", "mm_page_alloc", "mm_page_free"};
constexpr std::string_view kSchedUses[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new",
                                           "sched_migrate_task", "sched_process_fork"};
constexpr std::string_view kSyscallUses[] = {"sys_enter", "sys_exit", "sys_completed",
                                             "sched_process_exec", "sched_process_exit"};
constexpr std::string_view kWakeupUses[] = {"sched_switch",       "sched_waking",
                                            "sched_wakeup",       "sched_wakeup_new",
                                            "sched_migrate_task", "sched_process_fork"};
constexpr std::string_view kCpuUses[] = {"cpu_sample"};
constexpr std::string_view kOffCpuUses[] = {"sched_switch", "sched_waking", "sched_process_fork"};
constexpr std::string_view kOffCpuReads[] = {"sched_switch", "sched_waking"};
constexpr std::string_view kProcessReads[] = {"sched_process_fork", "sched_process_exit"};
constexpr std::string_view kFileReads[] = {"sys_enter", "sys_exit", "sys_enter_string",
                                           "sys_exit_string"};
constexpr std::string_view kKmemReads[] = {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"};
constexpr std::string_view kSchedReads[] = {"sched_switch", "sched_wakeup"};
constexpr std::string_view kSyscallReads[] = {"sys_enter", "sys_exit"};

constexpr ReportKind kReportKinds[] = {
    {ReportCommand::Kind::summary,
     "summary",
     "What is in the traces: events, CPUs, losses, processes",
     summary,
     summary_report_text,
     summary_tables,
     summary_sort_keys,
     {},
     {}},
    {ReportCommand::Kind::processes,
     "processes",
     "Who started which process, what it ran and how it ended",
     processes,
     process_report_text,
     process_tables,
     process_sort_keys,
     {.who = "report processes", .events = kProcessReads, .enable = "process"},
     {}},
    {ReportCommand::Kind::files,
     "files",
     "Which paths system calls got: what is opened, and what was not found",
     files,
     file_report_text,
     file_tables,
     file_sort_keys,
     {.who = "report files", .events = kFileReads, .enable = "syscalls strings"},
     kFileUses},
    {ReportCommand::Kind::kmem,
     "kmem",
     "Who allocates kernel memory, what is wasted and what is not given back",
     kmem,
     kmem_report_text,
     kmem_tables,
     kmem_sort_keys,
     {.who = "report kmem", .events = kKmemReads, .any = true, .enable = "kmem"},
     kKmemUses,
     StacksIn::with_option,
     "allocations"},
    {ReportCommand::Kind::sched,
     "sched",
     "Who runs, who waits for a CPU and for how long",
     sched,
     sched_report_text,
     sched_tables,
     sched_sort_keys,
     {.who = "report sched", .events = kSchedReads, .enable = "sched"},
     kSchedUses},
    {ReportCommand::Kind::syscalls,
     "syscalls",
     "How long system calls take, and how they end",
     syscalls,
     syscall_report_text,
     syscall_tables,
     syscall_sort_keys,
     {.who = "report syscalls", .events = kSyscallReads, .enable = "syscalls"},
     kSyscallUses,
     StacksIn::with_option,
     "calls"},
    {ReportCommand::Kind::wakeups,
     "wakeups",
     "Who wakes certain threads, how long these wait and what runs instead",
     wakeups,
     wakeup_report_text,
     wakeup_tables,
     wakeup_sort_keys,
     {.who = "report wakeups", .events = kSchedReads, .enable = "sched"},
     kWakeupUses},
    {ReportCommand::Kind::cpu,
     "cpu",
     "Where CPU time went: functions and their callers, by samples",
     cpu,
     cpu_report_text,
     cpu_tables,
     stack_owners,
     {.who = "report cpu", .events = kCpuUses, .enable = "cpu_sample"},
     kCpuUses,
     StacksIn::always,
     "samples"},
    {ReportCommand::Kind::offcpu,
     "offcpu",
     "Where threads sleep, for how long, and who wakes them",
     off_cpu,
     off_cpu_report_text,
     off_cpu_tables,
     stack_owners,
     {.who = "report offcpu", .events = kOffCpuReads, .enable = "sched"},
     kOffCpuUses,
     StacksIn::always,
     "sleeps"},
};

const ReportKind& kind_of(const ReportCommand& command) {
  return *std::ranges::find(kReportKinds, command.kind, &ReportKind::kind);
}

// The table to print as CSV; null if there is none of that name.
const ReportTable* table_of(const ReportCommand& command) {
  const std::vector<ReportTable>& tables = kind_of(command).tables();
  const std::string_view chosen =
      command.table.empty() && command.stacks ? std::string_view("tree") : command.table;
  if (chosen.empty()) return &tables.front();
  const auto found = std::ranges::find(tables, chosen, &ReportTable::name);
  return found != tables.end() ? &*found : nullptr;
}

// Why the report may be empty.
std::optional<std::string> missing_text(const ReportCommand& command, const ReportInput& input) {
  const auto traced = input.traced();
  if (!traced) return std::nullopt;
  const Traced when = command.live ? Traced::now : Traced::in_the_past;
  return missing_events(kind_of(command).needs, *traced, when);
}

std::string frame_text(const ReportMaking& making, json report) {
  add_facts(report, making.facts);
  std::string text = facts_text(report);
  if (const auto missing = missing_text(making.command, making.input))
    text += printable(*missing) + "\n\n";
  return text + kind_of(making.command).text(report, Colours::of(STDOUT_FILENO));
}

// Nothing if the report is only printed at its end.
Result<std::unique_ptr<ReportFrames>> frames_of(const ReportCommand& command,
                                                const Options& options) {
  constexpr double kShortest = 0.1, kDefault = 1, kLongest = 1e6;  // seconds
  const bool is_text = !command.csv && !options.json;
  if (!command.live || !is_text || !has_screen(STDOUT_FILENO)) return nullptr;
  const double seconds = std::clamp(command.interval_s.value_or(kDefault), kShortest, kLongest);
  return ReportFrames::every(std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9)));
}

// The events of the session of a live report; empty: those of the recorder. With selected system
// calls come all events that the report needs to pair and to time them.
std::vector<std::string> live_events(const ReportCommand& command) {
  const SelectionArgs& selection = command.selection;
  auto events = session_events(selection, {.syscalls = selection.syscalls});
  if (events.empty() || !selection.events.empty()) return events;
  const ReportKind& kind = kind_of(command);
  for (const auto group : std::views::split(kind.needs.enable, ' '))
    events.emplace_back(group.begin(), group.end());
  for (const std::string_view event : kind.uses)
    if (event != kCompletedEvent) events.emplace_back(event);
  return events;
}

// The system calls that the daemon selects, by name; those with a number are left to the client.
std::vector<std::string> live_calls(const ReportCommand& command) {
  const std::vector<std::string>& calls = command.selection.syscalls;
  return std::ranges::any_of(calls, is_decimal_text) ? std::vector<std::string>() : calls;
}

Result<std::unique_ptr<ReportInput>> input_of(const ReportCommand& command,
                                              const Options& options) {
  auto seconds = stream_seconds(command.duration_s, command.times);
  if (command.live && !seconds) return propagate(seconds);
  SelectionArgs selection = command.selection;
  SessionArgs session;
  if (command.live)
    if (auto resolved = resolve_pids(options.socket, selection, session); !resolved)
      return propagate(resolved);
  auto input = command.live ? LiveInput::subscribe(options.socket, *seconds, live_events(command),
                                                   live_calls(command))
                            : TraceInput::open(command.directories, command.partial, command.times);
  if (!input) return input;
  const ReportKind& kind = kind_of(command);
  return SelectedInput::of(std::move(*input), selection,
                           {.report = kind.needs.who, .events = kind.uses});
}

// What a table cannot show goes to standard error.
std::string csv_of(const json& report, const ReportCommand& command) {
  if (const std::string reach = reach_text(report); !reach.empty())
    print_stderr("ktracectl: {}; {}\n", window_text(report), reach);
  for (const std::string& caveat : texts_at(report, "caveats"))
    print_stderr("ktracectl: {}\n", printable(caveat));
  return table_csv(*table_of(command), report);
}

std::string text_of(const json& report, const ReportCommand& command, const Options& options) {
  if (command.csv) return csv_of(report, command);
  if (options.json) return json_text(report);
  return facts_text(report) + kind_of(command).text(report, Colours::of(STDOUT_FILENO));
}

}  // namespace

std::span<const ReportKind> report_kinds() { return kReportKinds; }

std::vector<std::string> table_names(const ReportKind& kind) {
  std::vector<std::string> names;
  for (const ReportTable& table : kind.tables()) names.emplace_back(table.name);
  return names;
}

std::vector<std::string> by_names(const ReportKind& kind) {
  std::vector<std::string> names = kind.sort_keys();
  if (kind.stacks != StacksIn::with_option) return names;
  for (std::string& owner : stack_owners()) names.push_back(std::move(owner));
  return names;
}

Result<> run_report(const ReportCommand& command, const Options& options) {
  if (command.csv && options.json)
    return fail(ExitCode::usage, "--csv and --json exclude each other");
  if (command.csv && table_of(command) == nullptr)
    return fail(ExitCode::usage, "unknown table '{}'; there are {}", command.table,
                fmt::join(table_names(kind_of(command)), ", "));
  auto frames = frames_of(command, options);
  if (!frames) return propagate(frames);
  auto input = input_of(command, options);
  if (!input) return propagate(input);
  ReportFacts facts;
  auto made = kind_of(command).make(
      {.command = command, .input = **input, .facts = facts, .frames = frames->get()});
  frames->reset();
  if (!made) return propagate(made);
  if (const auto missing = missing_text(command, **input))
    print_stderr("ktracectl: {}\n", printable(*missing));
  if (const std::string unmet = (*input)->unmet_selection(); !unmet.empty())
    print_stderr("ktracectl: no event is selected by {}\n",
                 printable(within_times(unmet, command.times)));
  json& report = *made;
  add_facts(report, facts);
  auto written = write_all(STDOUT_FILENO, text_of(report, command, options));
  if (!written) return propagate(written);
  return (*input)->verdict();
}

}  // namespace ktraced
