// SPDX-License-Identifier: BSD-2-Clause
// The options of reports.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text/c_text.h"
#include "base/text/suggest.h"
#include "ctl/command_line/selection_options.h"
#include "ctl/command_line/view_command_line.h"
#include "ctl/reports/report.h"
#include "ctl/reports/stack_reports.h"
#include "ctl/selection/comm_pattern.h"
#include "schema/names.h"
#include "trace/directory/trace_files.h"

namespace ktraced {
namespace {

// Accepts one of these names, of which `kind` says what they name.
auto one_of(const char* kind, std::vector<std::string> names) {
  return [kind, names = std::move(names)](const std::string& text) {
    if (std::ranges::find(names, text) != names.end()) return std::string();
    return unknown_name(kind, text, names, fmt::format("there are {}", fmt::join(names, ", ")));
  };
}

// `top` has the default.
void add_top(CLI::App* sub, uint64_t& top) {
  sub->add_option_function<std::string>(
         "--top",
         [&top](const std::string& text) {
           top = ReportCommand::kAllRows;
           if (text != "all") std::from_chars(text.data(), text.data() + text.size(), top);
         },
         fmt::format("Rows of each table, or all ({})", top))
      ->check([](const std::string& text) {
        uint64_t rows = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rows);
        const bool is_number = error == std::errc() && end == text.data() + text.size();
        if (text == "all" || (is_number && rows != 0)) return std::string();
        return fmt::format("'{}' is not a number above 0, nor 'all'", text);
      })
      ->type_name("N|all");
}

// --csv and --table with the names of `tables`, the default first.
void add_csv(CLI::App* sub, ReportCommand& report, const std::vector<std::string>& tables) {
  auto* csv = sub->add_flag("--csv", report.csv, "Print one table as comma-separated values");
  sub->add_option(
         "--table", report.table,
         fmt::format("With --csv: {} (the default is {})", fmt::join(tables, ", "), tables.front()))
      ->needs(csv)
      ->check(one_of("table", tables))
      ->type_name("TABLE");
}

// --by with the sort keys of its rows, or with those whose stacks are put together, the default
// first.
void add_by(CLI::App* sub, std::string& by, const ReportKind& kind) {
  const std::vector<std::string> keys = kind.sort_keys();
  const std::string heading = kind.stacks == StacksIn::always
                                  ? fmt::format("Whose {} are put together", kind.stacks_of)
                                  : "What rows are sorted by";
  std::string what =
      fmt::format("{}: {} (the default is {})", heading, fmt::join(keys, ", "), keys.front());
  if (kind.stacks == StacksIn::with_option)
    what += fmt::format("; with --stacks also whose {} are put together: {}", kind.stacks_of,
                        fmt::join(stack_owners(), ", "));
  sub->add_option("--by", by, what)->check(one_of("sort key", by_names(kind)))->type_name("WHAT");
}

std::string check_syscall(const std::string& typed) {
  constexpr int32_t kNumbers = 1024;  // more than there are
  std::vector<std::string> names;
  for (uint32_t abi = 0; abi < 3; ++abi) {
    if (syscall_number(abi, typed)) return "";
    for (int32_t number = 0; number < kNumbers; ++number)
      if (const auto name = syscall_name(abi, number); !name.empty()) names.emplace_back(name);
  }
  return unknown_name("system call", typed, names);
}

// --stacks, --invert and the options of frames, as the kind has them.
void add_stacks(CLI::App* sub, ReportCommand& report, const ReportKind& kind) {
  if (report.kind == ReportCommand::Kind::syscalls)
    sub->add_option_function<std::string>(
           "--stacks",
           [&report](const std::string& name) {
             report.stacks = true;
             report.stacks_of = name;
           },
           "Where this system call is made: functions and their callers")
        ->check(check_syscall)
        ->type_name("NAME");
  else if (report.kind == ReportCommand::Kind::kmem)
    sub->add_flag("--stacks", report.stacks,
                  "Who holds what: functions and their callers, by what is not given back");
  sub->add_flag("--invert", report.invert,
                fmt::format("Trees of {} that begin with the innermost functions", kind.stacks_of));
  add_frame_options(sub, report.frames);
}

// Of reports that have trees with --stacks only.
void check_stacks(const ReportCommand& report) {
  if (report.stacks) return;
  if (report.invert) throw CLI::ValidationError("--invert needs --stacks");
  refuse_frame_options(report.frames, "--stacks");
  if (is_stack_owner(report.by))
    throw CLI::ValidationError(fmt::format("--by {} needs --stacks", report.by));
  if (report.table == "tree" || report.table == "functions")
    throw CLI::ValidationError(fmt::format("--table {} needs --stacks", report.table));
}

// The first argument of the report on wakeups. No task can have some names, which are refused. A
// trace in this place is a mistake: other reports have it there.
void add_who(CLI::App* sub, std::string& who) {
  sub->add_option("WHO", who,
                  "The woken threads: the id of a process or thread, or a name ('nginx*')")
      ->required()
      ->check([](const std::string& text) {
        std::error_code unknown;
        if (std::filesystem::exists(std::filesystem::path(text) / kManifestFile, unknown))
          return fmt::format(
              "{} is a trace: the woken threads stand before it, 'ktracectl report wakeups WHO {}'",
              text, text);
        if (text == "*" || is_decimal_text(text)) return std::string();
        const auto pattern = comm_pattern(text);
        return pattern ? std::string() : pattern.error().message;
      });
}

void add_report_kind(CLI::App* report, Command& command, const ReportKind& kind) {
  auto* sub = report->add_subcommand(std::string(kind.name), kind.description);
  sub->fallthrough();
  auto options = std::make_shared<ReportCommand>();
  options->kind = kind.kind;
  if (kind.kind == ReportCommand::Kind::wakeups) add_who(sub, options->who);
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
  add_csv(sub, *options, table_names(kind));
  if (kind.kind == ReportCommand::Kind::processes)
    sub->add_flag("--tree", options->tree, "Children below their parents");
  add_by(sub, options->by, kind);
  if (kind.stacks != StacksIn::none) add_stacks(sub, *options, kind);
  sub->callback([options, name = kind.name, stacks = kind.stacks, &command] {
    if (stacks == StacksIn::with_option) check_stacks(*options);
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
  add_frame_options(sub, options->frames);
  sub->callback([options, &command] { command = *options; });
}

}  // namespace

void add_report(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("report", "Summarize the events of traces, or of a live stream");
  sub->require_subcommand(1);
  for (const ReportKind& kind : report_kinds()) add_report_kind(sub, command, kind);
  add_html_report(sub, command);
}

}  // namespace ktraced
