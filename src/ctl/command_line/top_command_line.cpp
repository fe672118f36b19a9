// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/text/suggest.h"
#include "ctl/command_line/selection_options.h"
#include "ctl/command_line/view_command_line.h"
#include "ctl/top/view_names.h"

namespace ktraced {

void add_top_command(CLI::App& app, Command& command) {
  auto* sub = app.add_subcommand("top", "Watch rates of events, processes, calls and sessions");
  auto options = std::make_shared<TopCommand>();
  sub->add_option_function<std::string>(
         "--view", [options](const std::string& name) { options->view = *top_view_named(name); },
         fmt::format("What is shown first: {} (the default is events)",
                     fmt::join(top_view_names(), ", ")))
      ->check([](const std::string& name) {
        if (top_view_named(name)) return std::string();
        return unknown_name("view", name, top_view_names(),
                            fmt::format("there are {}", fmt::join(top_view_names(), ", ")));
      })
      ->type_name("VIEW");
  add_duration(sub, options->interval_s, "Time between two frames (1s)", "--interval");
  sub->add_option("--count", options->count, "End after N frames")
      ->check(check_positive)
      ->type_name("N");
  add_selection_options(sub, options->selection);
  add_condition_options(sub, options->selection);
  add_task_options(sub, options->session);
  sub->callback([options, &command] { command = *options; });
}

}  // namespace ktraced
