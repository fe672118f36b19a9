// SPDX-License-Identifier: BSD-2-Clause
// The part of the command line that is about looking at events.
#pragma once

#include <optional>

#include "ctl/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ktraced {

// Each adds a subcommand, which sets `command` when it is typed.
void add_stream(CLI::App& app, Command& command);
void add_show(CLI::App& app, Command& command);
void add_report(CLI::App& app, Command& command);
void add_export(CLI::App& app, Command& command);

// --duration TIME of any command.
CLI::Option* add_duration(CLI::App* sub, std::optional<double>& seconds, const char* description);

}  // namespace ktraced
