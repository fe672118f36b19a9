// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/view_command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/text/duration.h"
#include "base/text/suggest.h"
#include "base/user_id.h"
#include "ctl/printing/output_format.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/reports/sched_report.h"
#include "ctl/reports/syscall_report.h"

namespace ktraced {
namespace {

// Accepts numbers above zero; the message of CLI11's own check has a number of 300 digits.
std::string check_positive(const std::string& text) {
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  bool is_number = error == std::errc() && end == text.data() + text.size();
  if (is_number && number > 0 && std::isfinite(number)) return "";
  return fmt::format("'{}' is not a number above 0", text);
}

std::string check_format(const std::string& text) {
  if (format_named(text)) return "";
  const std::vector<std::string> names = format_names();
  return unknown_name("format", text, names, fmt::format("there are {}", fmt::join(names, ", ")));
}

// Adds --format and the options of single formats.
void add_format_options(CLI::App* sub, ViewOptions& view) {
  sub->add_option_function<std::string>(
         "--format", [&view](const std::string& name) { view.format = format_named(name); },
         "ftrace (the default), json, kmemtrace, kmemtrace-minimal or process")
      ->check(check_format)
      ->type_name("FORMAT");
  sub->add_flag("--gfp-names", view.gfp_names, "Allocation flags by name (of kmemtrace-minimal)");
  sub->add_flag("--names", view.names,
                "System calls, signals, errors and files by name (of process)");
}

// Rejects options that the selected format does not have.
void check_format_options(const ViewOptions& view) {
  if (view.gfp_names && view.format != OutputFormat::kmemtrace_minimal)
    throw CLI::ValidationError("--gfp-names belongs to --format kmemtrace-minimal");
  if (view.names && view.format != OutputFormat::process)
    throw CLI::ValidationError("--names belongs to --format process");
}

// Adds an option that can be repeated and takes several values at once.
void add_list(CLI::App* sub, const char* name, auto& values, const char* description,
              const char* type) {
  sub->add_option(name, values, description)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name(type);
}

void add_event_option(CLI::App* sub, std::vector<std::string>& events) {
  add_list(sub, "--event", events, "Only these events or groups", "NAME,…");
}

// --event, --pid, --uid and --comm.
void add_selection_options(CLI::App* sub, SelectionArgs& selection) {
  add_event_option(sub, selection.events);
  add_list(sub, "--pid", selection.pids, "Only events of these processes or threads", "PID,…");
  sub->add_option_function<std::vector<std::string>>(
         "--uid",
         [&selection](const std::vector<std::string>& users) {
           for (const std::string& user : users)
             if (auto uid = parse_user(user)) selection.uids.push_back(*uid);
         },
         "Only events of processes of these users, by name or number")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        const auto user = parse_user(text);
        return user ? std::string() : user.error().message;
      })
      ->type_name("USER,…");
  add_list(sub, "--comm", selection.comms, "Only events of tasks with these names ('nginx*')",
           "COMM,…");
}

// What is selected by the fields of events.
void add_condition_options(CLI::App* sub, SelectionArgs& selection) {
  add_list(sub, "--tid", selection.tids, "Only events of these threads", "TID,…");
  add_list(sub, "--cpu", selection.cpus, "Only events on these CPUs", "N,…");
  add_list(sub, "--error", selection.errors,
           "Only system calls that fail so: ENOENT, or any for all errors", "ERROR,…");
  sub->add_option("--where", selection.where,
                  "Only events for which this is true: 'ret < 0 && nr == openat'; can be repeated")
      ->allow_extra_args(false)
      ->type_name("EXPRESSION");
}

// Of traces, which know the control groups of all threads.
void add_cgroup_option(CLI::App* sub, SelectionArgs& selection) {
  add_list(sub, "--cgroup", selection.cgroups,
           "Only events of tasks in these control groups: a path, an id, or a container",
           "GROUP,…");
}

void add_call_option(CLI::App* sub, std::vector<std::string>& calls) {
  add_list(sub, "--syscall", calls, "Of system calls, only these", "NAME,…");
}

// What the kernel can select beside.
void add_session_options(CLI::App* sub, SessionArgs& session) {
  add_list(sub, "--cgroup", session.cgroups, "Only events of tasks in these control groups",
           "PATH,…");
  add_list(sub, "--follow", session.follow,
           "Only events of these processes and of what they start from now on", "PID,…");
  add_call_option(sub, session.syscalls);
  sub->add_option("--buffer-kb", session.buffer_kb,
                  "Size of the ring of each CPU, a power of two (default: what fits)")
      ->check(check_positive)
      ->type_name("N");
  sub->add_option("--name", session.name, "Name of the session (default: client-N)")
      ->type_name("NAME");
}

// Options of commands that show events. Returns --count-only.
CLI::Option* add_view_options(CLI::App* sub, ViewOptions& view) {
  add_format_options(sub, view);
  add_selection_options(sub, view.selection);
  add_condition_options(sub, view.selection);
  auto* count = sub->add_option("--count", view.count, "End after N events");
  count->check(check_positive)->type_name("N");
  auto* count_only = sub->add_flag("--count-only", view.count_only,
                                   "Show nothing, count events and print their numbers as JSON");
  for (const char* name : {"--format", "--count"}) count_only->excludes(name);
  return count_only;
}

// Adds the directories of a command that reads traces.
template <class Options>
CLI::Option* add_directories(CLI::App* sub, Options& options) {
  sub->add_flag("--partial", options.partial, "Also a trace that was not finished");
  sub->add_option("--directory", options.store,
                  "Directory of snapshots given by name (default: the daemon's)")
      ->type_name("PATH");
  return sub->add_option("DIR", options.directories,
                         "Trace directories, or names of snapshots, read as one history");
}

// Adds one kind of report; `by`: the sort keys of its rows, the default first.
void add_report_kind(CLI::App* report, Command& command, ReportCommand::Kind kind, const char* name,
                     const char* description, const std::vector<std::string>& by) {
  auto* sub = report->add_subcommand(name, description);
  sub->fallthrough();
  auto options = std::make_shared<ReportCommand>();
  options->kind = kind;
  auto* directories = add_directories(sub, *options);
  auto* live = sub->add_flag("--live", options->live, "Report on what happens now, until Ctrl-C");
  live->excludes(directories)->excludes("--partial");
  add_duration(sub, options->duration_s, "With --live: end after this time")->needs(live);
  add_event_option(sub, options->events);
  sub->add_option("--top", options->top, "Rows of each table (10)")
      ->check(check_positive)
      ->type_name("N");
  if (!by.empty())
    sub->add_option("--by", options->by,
                    fmt::format("What rows are sorted by: {} (the default is {})",
                                fmt::join(by, ", "), by.front()))
        ->check([by](const std::string& text) {
          if (std::ranges::find(by, text) != by.end()) return std::string();
          return unknown_name("sort key", text, by,
                              fmt::format("there are {}", fmt::join(by, ", ")));
        })
        ->type_name("WHAT");
  sub->callback([options, name, &command] {
    if (options->directories.empty() && !options->live)
      throw CLI::ValidationError(
          fmt::format("report {} needs DIR, a trace directory, or --live", name));
    command = *options;
  });
}

// `report html` writes a file, so it reads finished traces only.
void add_html_report(CLI::App* report, Command& command) {
  auto* sub =
      report->add_subcommand("html", "All reports in one file for a browser, with a timeline");
  sub->fallthrough();
  auto options = std::make_shared<HtmlCommand>();
  add_directories(sub, *options)->required();
  sub->add_option("-o,--output", options->output,
                  "The file to write, which must not exist; -: standard output")
      ->required()
      ->type_name("FILE");
  add_event_option(sub, options->events);
  sub->add_option("--top", options->top, "Rows of each table (300)")
      ->check(check_positive)
      ->type_name("N");
  sub->callback([options, &command] { command = *options; });
}

}  // namespace

CLI::Option* add_duration(CLI::App* sub, std::optional<double>& seconds, const char* description,
                          const char* name) {
  return sub
      ->add_option_function<std::string>(
          name,
          [&seconds](const std::string& text) {
            if (auto duration = parse_duration(text))
              seconds = std::chrono::duration<double>(*duration).count();
          },
          description)
      ->check([](const std::string& text) {
        const auto duration = parse_duration(text);
        return duration ? std::string() : duration.error().message;
      })
      ->type_name("TIME");
}

void add_record_selection(CLI::App* sub, RecordCommand& record) {
  add_selection_options(sub, record.selection);
  add_session_options(sub, record.session);
  auto* all = sub->add_flag("--all", record.session.all,
                            "All tasks, not only those of COMMAND or of the recorder's filter");
  for (const char* name : {"--pid", "--uid", "--comm", "--cgroup", "--follow"}) all->excludes(name);
}

void add_stream(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("stream", "Show events as they happen");
  auto options = std::make_shared<StreamCommand>();
  add_view_options(sub, *options);
  add_session_options(sub, options->session);
  add_duration(sub, options->duration_s, "End after this time: 500ms, 2s, 1m");
  sub->callback([options, &command] {
    check_format_options(*options);
    command = *options;
  });
}

void add_show(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("show", "Show the events of traces; needs no daemon");
  auto options = std::make_shared<ShowCommand>();
  auto* count_only = add_view_options(sub, *options);
  add_call_option(sub, options->selection.syscalls);
  add_cgroup_option(sub, options->selection);
  for (const char* name : {"--event", "--pid", "--uid", "--comm", "--tid", "--cpu", "--error",
                           "--where", "--syscall", "--cgroup"})
    count_only->excludes(name);
  add_duration(sub, options->duration_s, "End after this time of the trace: 500ms, 2s, 1m")
      ->excludes("--count-only");
  add_directories(sub, *options)->required();
  sub->callback([options, &command] {
    check_format_options(*options);
    command = *options;
  });
}

void add_export(CLI::App& app, Command& command) {
  using Form = ExportCommand::Form;
  auto* sub = app.add_subcommand("export", "Write traces for other programs; needs no daemon");
  auto options = std::make_shared<ExportCommand>();
  add_directories(sub, *options)->required();
  sub->add_option_function<std::string>(
         "--to",
         [options](const std::string& form) {
           options->form = form == "json" ? Form::json : Form::perfetto;
         },
         "perfetto (for ui.perfetto.dev) or json (the lines of show --format json)")
      ->required()
      ->check([](const std::string& form) {
        if (form == "perfetto" || form == "json") return std::string();
        return unknown_name("form", form, {"perfetto", "json"}, "there are perfetto and json");
      })
      ->type_name("FORM");
  sub->add_option("-o,--output", options->output, "The file to be written; -: standard output")
      ->required()
      ->type_name("FILE");
  add_selection_options(sub, options->selection);
  add_condition_options(sub, options->selection);
  add_call_option(sub, options->selection.syscalls);
  add_cgroup_option(sub, options->selection);
  sub->callback([options, &command] { command = *options; });
}

void add_report(CLI::App& app, Command& command) {
  using Kind = ReportCommand::Kind;
  auto* sub = app.add_subcommand("report", "Summarize the events of traces, or of a live stream");
  sub->require_subcommand(1);
  add_report_kind(sub, command, Kind::summary, "summary",
                  "What is in the traces: events, CPUs, losses, processes", {});
  add_report_kind(sub, command, Kind::kmem, "kmem",
                  "Who allocates kernel memory, what is wasted and what is not given back",
                  kmem_sort_keys());
  add_report_kind(sub, command, Kind::sched, "sched",
                  "Who runs, who waits for a CPU and for how long", sched_sort_keys());
  add_report_kind(sub, command, Kind::syscalls, "syscalls",
                  "How long system calls take, and how they end", syscall_sort_keys());
  add_html_report(sub, command);
}

}  // namespace ktraced
