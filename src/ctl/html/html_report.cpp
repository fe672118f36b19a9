// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/html/html_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "analysis/reports/fan_out.h"
#include "base/print_stderr.h"
#include "ctl/html/html_signals.h"
#include "ctl/html/html_stacks.h"
#include "ctl/html/html_template.h"
#include "ctl/html/html_timeline.h"
#include "ctl/input/report_input.h"
#include "ctl/input/report_text.h"
#include "ctl/input/selected_input.h"
#include "ctl/input/trace_input.h"
#include "ctl/reports/file_report.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/reports/process_report.h"
#include "ctl/reports/sched_report.h"
#include "ctl/reports/summary_report.h"
#include "ctl/reports/syscall_report.h"
#include "ctl/reports/wakeup_report.h"
#include "ctl/terminal/json_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/output_target.h"

namespace ktraced {
namespace {

using nlohmann::json;

// All analyses of the page, run in one pass over the events.
struct PageAnalyses {
  explicit PageAnalyses(size_t top) : sched(top), syscalls(call_tracker, top) {}

  CallTracker call_tracker;
  SummaryAnalysis summary;
  KmemAnalysis kmem;
  SchedAnalysis sched;
  SyscallAnalysis syscalls;
  ProcessAnalysis processes;
  WakeupAnalysis wakeups{[](uint32_t, const TaskName*) { return true; }, 0};
  SignalAnalysis signals;
  FileAnalysis files;
  CallPaths paths{files};
  RunTimeline run{sched.runs()};
  ThreadTimeline threads{call_tracker, sched.runs()};
  LossTimeline losses;
  FanOut without_stacks{{&summary, &kmem, &threads, &sched, &call_tracker, &processes, &wakeups,
                         &signals, &paths, &losses}};
  StackAnalyses stacks;
  FanOut all{{&without_stacks, &stacks.stacks, &stacks.samples, &stacks.sleeps}};

  void finish(const ReportFacts& facts) {
    kmem.finish(facts.end_ns, facts.whole_since_ns);
    sched.finish(facts.end_ns);
    call_tracker.finish(facts.end_ns);
    processes.finish(facts.end_ns);
    wakeups.finish(facts.end_ns);
    paths.finish(facts.end_ns);
    threads.finish(facts.end_ns);
    losses.finish(facts.end_ns);
    stacks.sleeps.finish(facts.end_ns);
  }
};

// What the report on the wake-ups of all threads has beyond the section on scheduling.
json wakeups_of_all(const WakeupAnalysis& analysis, const ReportCommand& command) {
  const json report = wakeup_report(analysis, command);
  json out;
  for (const char* key : {"wakers", "pairs", "wakers_are_guessed", "uncertain"})
    out[key] = report[key];
  return out;
}

// A number of JavaScript has 53 bits: offsets are texts.
json clocks_json(const ReportFacts& facts) {
  json clocks = json::array();
  for (const ClockOffset& clock : facts.clocks)
    clocks.push_back(
        {{"since_ns", clock.since_ns}, {"clock_offset_ns", std::to_string(clock.offset_ns)}});
  return clocks;
}

// The objects of the other reports, and the timelines.
json page_data(ReportInput& input, PageAnalyses& analyses, const HtmlCommand& page) {
  const ReportFacts facts = input.facts({});
  const ReportFacts of_kmem = input.facts(events_that_free(analyses.kmem));
  const ReportFacts of_sched = input.facts(kSchedNeeds), of_syscalls = input.facts(kSyscallNeeds);
  const ReportFacts of_processes = process_facts(input), of_files = input.facts(kFileNeeds);
  if (const auto tasks = input.lives(false)) analyses.processes.complete(*tasks);
  analyses.finish(of_kmem);
  ReportCommand command;
  command.top = page.top;
  json data = {
      {"version", KTRACED_VERSION},
      {"summary", summary_report(analyses.summary, command, facts)},
      {"kmem", kmem_report(analyses.kmem, command,
                           [&input](uint64_t address) { return input.symbol(address); })},
      {"sched", sched_report(analyses.sched, command)},
      {"syscalls", syscall_report(analyses.syscalls, command)},
      {"processes", process_report(analyses.processes, command, of_processes)},
      {"wakeups", wakeups_of_all(analyses.wakeups, command)},
      {"signals", html_signals(analyses.signals, page.top)},
      {"files", file_report(analyses.files, analyses.paths, command)},
      {"timeline", html_timeline(analyses.run, analyses.threads, analyses.losses, facts.begin_ns)}};
  data["kmem"]["caveats"] = of_kmem.caveats;
  data["sched"]["caveats"] = of_sched.caveats;
  data["syscalls"]["caveats"] = of_syscalls.caveats;
  data["processes"]["caveats"] = of_processes.caveats;
  data["wakeups"]["caveats"] = input.facts(kWakeupNeeds).caveats;
  data["signals"]["caveats"] = input.facts(kSignalNeeds).caveats;
  data["files"]["caveats"] = of_files.caveats;
  if (input.has_stacks())
    data["stacks"] = html_stacks(analyses.stacks, input, facts.begin_ns, page.frames);
  add_facts(data, facts);
  data["clocks"] = clocks_json(facts);
  return data;
}

// '<' occurs only in strings. There it could end the HTML element that contains the text.
std::string without_markup(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

Result<> write_page(OutputTarget& file, const json& data) {
  const HtmlTemplate page = html_template();
  const std::string text = without_markup(json_text(printable_texts(data), -1));
  for (const std::string_view part : {page.before, std::string_view(text), page.after})
    if (auto written = file.write(part); !written) return written;
  return file.finish();
}

Result<> print_result(const HtmlCommand& command, const json& data, const Options& options) {
  if (command.output == "-") return {};
  const uint64_t events = number_at(member(member(data, "summary"), "total"), "events");
  const std::string text = options.json ? json_text({{"path", command.output}, {"events", events}})
                                        : fmt::format("wrote {}: {} events; open it in a browser\n",
                                                      printable(command.output), grouped(events));
  auto written = write_all(STDOUT_FILENO, text);
  if (!written) return propagate(written);
  return {};
}

}  // namespace

Result<> run_html_report(const HtmlCommand& command, const Options& options) {
  if (html_template().before.empty())
    return fail(ExitCode::unavailable,
                "this ktracectl was built without the HTML report; build it with npm installed and "
                "-DKTRACED_HTML=ON");
  if (command.output == "-" && ::isatty(STDOUT_FILENO) == 1)
    return fail(ExitCode::usage, "a page for a browser is not for a terminal: give -o FILE");
  auto traces = TraceInput::open(command.directories, command.partial, command.times);
  if (!traces) return propagate(traces);
  auto input = SelectedInput::of(std::move(*traces), command.selection, {.report = "report html"});
  if (!input) return propagate(input);
  auto file = OutputTarget::open(command.output, access_of_traces(command.directories));
  if (!file) return propagate(file);
  PageAnalyses analyses(ReportCommand{.top = command.top}.single_events());
  Analysis& chosen = (*input)->has_stacks() ? analyses.all : analyses.without_stacks;
  if (auto read = (*input)->read(chosen); !read) return read;
  if (const std::string unmet = (*input)->unmet_selection(); !unmet.empty())
    print_stderr("ktracectl: no event is selected by {}\n",
                 printable(within_times(unmet, command.times)));
  const json data = page_data(**input, analyses, command);
  if (auto written = write_page(*file, data); !written) return written;
  if (auto printed = print_result(command, data, options); !printed) return printed;
  return (*input)->verdict();
}

}  // namespace ktraced
