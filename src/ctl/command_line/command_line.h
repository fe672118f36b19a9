// SPDX-License-Identifier: BSD-2-Clause
// Reads the command line.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ctl/input/options.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ktraced {

// The program with all its commands. Parsing sets `options`, and for the command `help` the words
// after it; both must live as long as the program.
[[nodiscard]] std::unique_ptr<CLI::App> make_program(Options& options,
                                                     std::vector<std::string>& help);

// The command line contains --help or --version, or is invalid.
struct NothingToRun {
  int exit_code = 0;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

[[nodiscard]] std::variant<Options, NothingToRun> parse_command_line(int argc,
                                                                     const char* const* argv);

}  // namespace ktraced
