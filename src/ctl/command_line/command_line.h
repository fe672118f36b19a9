// SPDX-License-Identifier: BSD-2-Clause
// Reads the command line.
#pragma once

#include <string>
#include <variant>

#include "ctl/input/options.h"

namespace ktraced {

// The command line contains --help or --version, or is invalid.
struct NothingToRun {
  int exit_code = 0;
  std::string out;  // for stdout
  std::string err;  // for stderr
};

[[nodiscard]] std::variant<Options, NothingToRun> parse_command_line(int argc,
                                                                     const char* const* argv);

}  // namespace ktraced
