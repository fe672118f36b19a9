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
#include "ctl/command_line/selection_options.h"
#include "ctl/printing/output_format.h"

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
  if (!query.shell && words.back().find_first_not_of(" \t\r\n;") == std::string::npos)
    throw CLI::ValidationError("the SQL of the query is empty");
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
  sub->add_flag("--stacks", options->stacks,
                "The functions that led to an event below it, where the trace has its stacks")
      ->excludes("--count-only");
  add_frame_options(sub, options->frames);
  add_directories(sub, *options)->required();
  sub->callback([options, &command] {
    check_format_options(*options);
    if (!options->stacks) refuse_frame_options(options->frames, "--stacks");
    const auto format = options->format.value_or(OutputFormat::ftrace);
    if (options->stacks && format != OutputFormat::ftrace && format != OutputFormat::json)
      throw CLI::ValidationError("--stacks belongs to --format ftrace and json");
    command = *options;
  });
}

std::optional<ExportCommand::Form> export_form_named(std::string_view name) {
  using Form = ExportCommand::Form;
  if (name == "perfetto") return Form::perfetto;
  if (name == "trace.dat") return Form::trace_dat;
  if (name == "json") return Form::json;
  if (name == "folded") return Form::folded;
  return std::nullopt;
}

void add_export(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("export", "Write traces for other programs; needs no daemon");
  auto options = std::make_shared<ExportCommand>();
  add_directories(sub, *options)->required();
  sub->add_option_function<std::string>(
         "--to", [options](const std::string& form) { options->form = *export_form_named(form); },
         "perfetto (for ui.perfetto.dev), trace.dat (for trace-cmd and KernelShark), json (the "
         "lines of show --format json) or folded (stacks, for flame graphs)")
      ->required()
      ->check([](const std::string& form) {
        if (export_form_named(form)) return std::string();
        return unknown_name("form", form, {"perfetto", "trace.dat", "json", "folded"},
                            "there are perfetto, trace.dat, json and folded");
      })
      ->type_name("FORM");
  sub->add_option("-o,--output", options->output, "The file to be written; -: standard output")
      ->required()
      ->type_name("FILE");
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  add_frame_options(sub, options->frames);
  sub->callback([options, &command] {
    using Form = ExportCommand::Form;
    if (options->form != Form::perfetto && options->form != Form::folded)
      refuse_frame_options(options->frames, "--to perfetto or --to folded");
    command = *options;
  });
}

void add_query(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("query", "Answer questions in SQL; needs no daemon");
  auto options = std::make_shared<QueryCommand>();
  add_directories(sub, *options,
                  "Trace directories, archives of them, or names of snapshots; then the SQL")
      ->option_text("DIR... SQL");
  add_all_selection(sub, options->selection);
  add_time_options(sub, options->times);
  add_frame_options(sub, options->frames);
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

}  // namespace ktraced
