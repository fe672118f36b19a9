// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/view_command_line.h"

#include <fmt/ranges.h>
#include <strings.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/text/suggest.h"
#include "ctl/command_line/report_options.h"
#include "ctl/command_line/selection_options.h"
#include "ctl/printing/output_format.h"
#include "ctl/reports/file_report.h"
#include "ctl/reports/kmem_report.h"
#include "ctl/reports/process_report.h"
#include "ctl/reports/sched_report.h"
#include "ctl/reports/summary_report.h"
#include "ctl/reports/syscall_report.h"
#include "ctl/reports/wakeup_report.h"

namespace ktraced {
namespace {

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
  auto* names = sub->add_flag_callback(
      "--names", [&view] { view.names = true; },
      "Calls, errors, signals and flags by name; the default on a terminal");
  sub->add_flag_callback(
         "--no-names", [&view] { view.names = false; }, "All of these as numbers")
      ->excludes(names);
  sub->add_option_function<std::string>(
         "--time", [&view](const std::string& name) { view.time = time_form_named(name); },
         "Times in text: boot (seconds since boot), wall, iso (date and time), or delta")
      ->check([](const std::string& text) {
        if (time_form_named(text)) return std::string();
        return unknown_name("form of time", text, time_form_names(),
                            fmt::format("there are {}", fmt::join(time_form_names(), ", ")));
      })
      ->type_name("FORM");
}

// Rejects options that the selected format does not have.
void check_format_options(const ViewOptions& view) {
  if (view.gfp_names && view.format != OutputFormat::kmemtrace_minimal)
    throw CLI::ValidationError("--gfp-names belongs to --format kmemtrace-minimal");
  if (view.format != OutputFormat::json) return;
  if (view.names) throw CLI::ValidationError("--names is for text: JSON has numbers and names");
  if (view.time) throw CLI::ValidationError("--time is for text: JSON has ns since boot");
}

// Options of commands that show events. Returns --count-only.
CLI::Option* add_view_options(CLI::App* sub, ViewOptions& view) {
  add_format_options(sub, view);
  add_selection_options(sub, view.selection);
  add_condition_options(sub, view.selection);
  add_time_options(sub, view.times);
  auto* count = sub->add_option("--count", view.count, "End after N events");
  count->check(check_positive)->type_name("N");
  auto* count_only = sub->add_flag("--count-only", view.count_only,
                                   "Show nothing, count events and losses, and print their numbers "
                                   "as JSON; refuses some options, as --where");
  for (const char* name : {"--format", "--count", "--tid", "--cpu", "--error", "--where"})
    count_only->excludes(name);
  return count_only;
}

// Adds the directories of a command that reads traces.
template <class Options>
CLI::Option* add_directories(
    CLI::App* sub, Options& options,
    const char* description = "Trace directories, or names of snapshots, read as one history") {
  sub->add_flag("--partial", options.partial, "Also a trace that was not finished");
  sub->add_option("--directory", options.store,
                  "Directory of snapshots given by name (default: the daemon's)")
      ->type_name("PATH");
  return sub->add_option("DIR", options.directories, description);
}

// Adds one kind of report; `by`: the sort keys of its rows, the default first.
void add_report_kind(CLI::App* report, Command& command, ReportCommand::Kind kind, const char* name,
                     const char* description, const std::vector<std::string>& by) {
  auto* sub = report->add_subcommand(name, description);
  sub->fallthrough();
  auto options = std::make_shared<ReportCommand>();
  options->kind = kind;
  if (kind == ReportCommand::Kind::wakeups)
    sub->add_option("WHO", options->who,
                    "The woken threads: the id of a process or thread, or a name ('nginx*')")
        ->required();
  auto* directories = add_directories(sub, *options);
  auto* live = sub->add_flag("--live", options->live, "Report on what happens now, until Ctrl-C");
  live->excludes(directories)->excludes("--partial");
  add_duration(sub, options->duration_s, "With --live: end after this time")->needs(live);
  add_duration(sub, options->interval_s,
               "With --live on a terminal: draw the report again after this time (1s)",
               "--interval")
      ->needs(live);
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  for (const char* past : {"--since", "--last"}) {
    CLI::Option* option = sub->get_option(past);
    option->description("Of traces: " + option->get_description());
  }
  add_top(sub, options->top);
  add_csv(sub, *options);
  if (kind == ReportCommand::Kind::processes)
    sub->add_flag("--tree", options->tree, "Children below their parents");
  add_by(sub, options->by, by);
  sub->callback([options, name, &command] {
    if (options->directories.empty() && !options->live)
      throw CLI::ValidationError(
          fmt::format("report {} needs DIR, a trace directory, or --live", name));
    if (options->live) refuse_past(options->times, "a live report");
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
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  add_top(sub, options->top);
  sub->callback([options, &command] { command = *options; });
}

// SQL, or a command of the shell. A name with a space is taken for SQL: the message names both.
bool looks_like_sql(const std::string& word) {
  return word.contains(' ') || word.contains('\n') ||
         (word.starts_with('.') && word.size() > 2 && !word.contains('/'));
}

// A statement that reads, wherever it stands.
bool is_statement(const std::string& word) {
  return std::ranges::any_of(
      std::array{"SELECT ", "WITH ", "VALUES ", "VALUES(", "EXPLAIN "}, [&](const char* keyword) {
        return ::strncasecmp(word.c_str(), keyword, std::strlen(keyword)) == 0;
      });
}

// The tables are of traces: who asks about the running machine has to save one.
void check_query_words(const QueryCommand& query) {
  const auto& words = query.directories;
  if (words.empty() || (words.size() == 1 && !query.shell && looks_like_sql(words.front())))
    throw CLI::ValidationError(
        "query needs DIR, a trace directory or the name of a snapshot, before the SQL; 'ktracectl "
        "snapshot take NAME' saves what the flight recorder holds, 'ktracectl record -o DIR "
        "--duration 2s' what happens from now on");
  if (words.size() == 1 && !query.shell)
    throw CLI::ValidationError("query needs DIR, a trace directory, and then SQL, or --shell");
  if (std::ranges::any_of(words.begin(), words.end() - 1, is_statement))
    throw CLI::ValidationError(
        "the SQL stands behind the trace directories: 'ktracectl query DIR SQL'; put several "
        "statements into one word, with ';' between them");
}

}  // namespace

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
  // Refused with a sentence that says why.
  for (const char* name : {"--since", "--last"}) sub->get_option(name)->group("");
  add_session_options(sub, options->session);
  add_duration(sub, options->duration_s, "End after this time: 500ms, 2s, 1m");
  sub->callback([options, &command] {
    check_format_options(*options);
    refuse_past(options->times, "a stream");
    command = *options;
  });
}

void add_show(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("show", "Show the events of traces; needs no daemon");
  auto options = std::make_shared<ShowCommand>();
  auto* count_only = add_view_options(sub, *options);
  add_syscall_option(sub, options->selection.syscalls);
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

std::optional<ExportCommand::Form> export_form_named(std::string_view name) {
  using Form = ExportCommand::Form;
  if (name == "perfetto") return Form::perfetto;
  if (name == "trace.dat") return Form::trace_dat;
  if (name == "json") return Form::json;
  return std::nullopt;
}

void add_export(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("export", "Write traces for other programs; needs no daemon");
  auto options = std::make_shared<ExportCommand>();
  add_directories(sub, *options)->required();
  sub->add_option_function<std::string>(
         "--to", [options](const std::string& form) { options->form = *export_form_named(form); },
         "perfetto (for ui.perfetto.dev), trace.dat (for trace-cmd and KernelShark) or json (the "
         "lines of show --format json)")
      ->required()
      ->check([](const std::string& form) {
        if (export_form_named(form)) return std::string();
        return unknown_name("form", form, {"perfetto", "trace.dat", "json"},
                            "there are perfetto, trace.dat and json");
      })
      ->type_name("FORM");
  sub->add_option("-o,--output", options->output, "The file to be written; -: standard output")
      ->required()
      ->type_name("FILE");
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  sub->callback([options, &command] { command = *options; });
}

void add_query(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("query", "Answer questions in SQL; needs no daemon");
  auto options = std::make_shared<QueryCommand>();
  add_directories(sub, *options, "Trace directories, or names of snapshots; then the SQL")
      ->option_text("DIR... SQL");
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  sub->add_flag("--shell", options->shell, "Read statements from standard input; needs no SQL");
  sub->add_flag("--csv", options->csv, "Print comma-separated values");
  sub->add_option("--memory-mb", options->memory_mb, "Memory for sorting and grouping (512)")
      ->check(check_positive)
      ->type_name("N");
  sub->callback([options, &command] {
    check_query_words(*options);
    command = *options;
    auto& query = std::get<QueryCommand>(command);
    if (query.shell) return;
    query.sql = std::move(query.directories.back());
    query.directories.pop_back();
  });
}

void add_report(CLI::App& app, Command& command) {
  using Kind = ReportCommand::Kind;
  auto* sub = app.add_subcommand("report", "Summarize the events of traces, or of a live stream");
  sub->require_subcommand(1);
  add_report_kind(sub, command, Kind::summary, "summary",
                  "What is in the traces: events, CPUs, losses, processes", summary_sort_keys());
  add_report_kind(sub, command, Kind::processes, "processes",
                  "Who started which process, what it ran and how it ended", process_sort_keys());
  add_report_kind(sub, command, Kind::files, "files",
                  "Which paths system calls got: what is opened, and what was not found",
                  file_sort_keys());
  add_report_kind(sub, command, Kind::kmem, "kmem",
                  "Who allocates kernel memory, what is wasted and what is not given back",
                  kmem_sort_keys());
  add_report_kind(sub, command, Kind::sched, "sched",
                  "Who runs, who waits for a CPU and for how long", sched_sort_keys());
  add_report_kind(sub, command, Kind::syscalls, "syscalls",
                  "How long system calls take, and how they end", syscall_sort_keys());
  add_report_kind(sub, command, Kind::wakeups, "wakeups",
                  "Who wakes certain threads, how long these wait and what runs instead",
                  wakeup_sort_keys());
  add_html_report(sub, command);
}

}  // namespace ktraced
