#include "ctl/view_command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/suggest.h"
#include "ctl/output_format.h"

namespace ktraced {
namespace {

// A number above zero; CLI11's own check says so in 300 digits.
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
  if (auto near = near_matches(text, names); !near.empty())
    return fmt::format("unknown format '{}': is {} meant?", text, fmt::join(near, " or "));
  return fmt::format("unknown format '{}': there are {}", text, fmt::join(names, ", "));
}

// --format and what belongs to single formats.
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

// Options that the chosen format does not have.
void check_format_options(const ViewOptions& view) {
  if (view.gfp_names && view.format != OutputFormat::kmemtrace_minimal)
    throw CLI::ValidationError("--gfp-names belongs to --format kmemtrace-minimal");
  if (view.names && view.format != OutputFormat::process)
    throw CLI::ValidationError("--names belongs to --format process");
}

// Options of commands that show events.
void add_view_options(CLI::App* sub, ViewOptions& view) {
  add_format_options(sub, view);
  auto add_list = [&](const char* name, auto& values, const char* description, const char* type) {
    sub->add_option(name, values, description)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name(type);
  };
  SelectionArgs& selection = view.selection;
  add_list("--event", selection.events, "Only these events or groups", "NAME,…");
  add_list("--pid", selection.pids, "Only events of these processes or threads", "PID,…");
  add_list("--comm", selection.comms, "Only events of tasks with these names ('nginx*')", "COMM,…");
  auto* count = sub->add_option("--count", view.count, "End after N events");
  count->check(check_positive)->type_name("N");
  auto* count_only = sub->add_flag("--count-only", view.count_only,
                                   "Show nothing, count events and print their numbers as JSON");
  for (const char* name : {"--format", "--event", "--pid", "--comm", "--count"})
    count_only->excludes(name);
}

// The directories of a command that reads traces.
void add_directories(CLI::App* sub, std::vector<std::string>& directories, bool& partial) {
  sub->add_flag("--partial", partial, "Also a trace that was not finished");
  sub->add_option("DIR", directories, "Trace directories, read as one history")->required();
}

}  // namespace

CLI::Option* add_duration(CLI::App* sub, std::optional<double>& seconds, const char* description) {
  return sub->add_option("--duration", seconds, description)
      ->check(check_positive)
      ->type_name("SECONDS");
}

void add_stream(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("stream", "Show events as they happen");
  auto options = std::make_shared<StreamCommand>();
  add_view_options(sub, *options);
  add_duration(sub, options->duration_s, "End after so many seconds");
  sub->callback([options, &command] {
    check_format_options(*options);
    command = *options;
  });
}

void add_show(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("show", "Show the events of traces; needs no daemon");
  auto options = std::make_shared<ShowCommand>();
  add_view_options(sub, *options);
  add_duration(sub, options->duration_s, "Only the first seconds of the trace")
      ->excludes("--count-only");
  add_directories(sub, options->directories, options->partial);
  sub->callback([options, &command] {
    check_format_options(*options);
    command = *options;
  });
}

}  // namespace ktraced
