// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl help COMMAND`, and the examples at the end of each command's help.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ktraced {

// Simplifies the help of a program and of commands added later: each option has its name, its value
// and a description.
void set_help_format(CLI::App& program);

// Adds the examples of each command to its help.
void add_examples(CLI::App& program);

// The help of the command that `words` name ("filter", "set"); without words, of the program. Fails
// with ExitCode::usage if there is no such command.
[[nodiscard]] Result<std::string> help_on(const CLI::App& program,
                                          const std::vector<std::string>& words);

}  // namespace ktraced
