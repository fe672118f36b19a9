// SPDX-License-Identifier: BSD-2-Clause
// babeltrace2, which checks written traces.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "unit/support/trace_directory.h"

namespace ktraced::test {

struct Printed {
  int status = -1;
  std::string out;
  std::string err;
};

inline Printed babeltrace(const std::filesystem::path& trace, const std::string& options) {
  TempDirectory directory;
  const auto out = directory.path() / "out", err = directory.path() / "err";
  Printed printed;
  printed.status = std::system(fmt::format("LC_ALL=C.UTF-8 babeltrace2 {} '{}' >'{}' 2>'{}'",
                                           options, trace.string(), out.string(), err.string())
                                   .c_str());
  printed.out = read_file(out);
  printed.err = read_file(err);
  return printed;
}

}  // namespace ktraced::test
