// SPDX-License-Identifier: BSD-2-Clause
// The options of commands that show events.
#pragma once

#include <optional>

#include "ctl/input/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ktraced {

// Each adds a subcommand, which sets `command` when it is used.
void add_stream(CLI::App& app, Command& command);
void add_show(CLI::App& app, Command& command);
void add_report(CLI::App& app, Command& command);
void add_export(CLI::App& app, Command& command);
void add_query(CLI::App& app, Command& command);
void add_top_command(CLI::App& app, Command& command);

// The options of `record` that select what is recorded.
void add_record_selection(CLI::App* sub, RecordCommand& record);

}  // namespace ktraced
