// SPDX-License-Identifier: BSD-2-Clause
// trace-cmd, which reads written trace.dat files back.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "unit/support/trace_directory.h"

namespace ktraced::test {

// A line of `trace-cmd report` or `show --format ftrace`. Only the head differs: widths of columns,
// the column of interrupt flags, and the name of the thread, of which a trace.dat has only the
// last.
struct FtraceLine {
  std::string comm;
  std::string tid;
  std::string event;  // CPU, time, name and text; of a loss: CPU and count

  bool operator==(const FtraceLine&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const FtraceLine& line) {
  return out << line.comm << '-' << line.tid << ' ' << line.event;
}

// Both forms of lines, without headings.
inline std::vector<FtraceLine> ftrace_lines(const std::string& text) {
  static const std::regex head(
      R"(^ *(.*?)-(\d+) +(\[\d+\]) (?:\.\.[.hsHzZ]\.\. )? *(\d+\.\d+: \S+:) *)");
  static const std::regex loss(R"(^CPU:(\d+) \[(?:LOST )?(\d+) EVENTS(?: DROPPED)?\]$)");
  constexpr size_t kHeadBytes = 128;  // at most; std::regex needs much stack for long lines
  std::vector<FtraceLine> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#') || line.starts_with("cpus=")) continue;
    const std::string begin = line.substr(0, kHeadBytes);
    std::smatch part;
    if (std::regex_search(begin, part, head))
      lines.push_back({part[1], part[2],
                       part[3].str() + " " + part[4].str() + " " + line.substr(part[0].length())});
    else if (std::regex_match(begin, part, loss))
      lines.push_back({"", "", "CPU " + part[1].str() + " lost " + part[2].str()});
    else
      lines.push_back({"", "", line});
  }
  return lines;
}

// What trace-cmd reads in a file, and its messages. Without its plugins, which print the events
// that they know in their own way.
inline std::string trace_cmd_report(const std::filesystem::path& file,
                                    const std::string& options = "-N") {
  TempDirectory directory;
  const auto out = directory.path() / "out";
  const int status =
      std::system(fmt::format("LC_ALL=C.UTF-8 trace-cmd report {} -i '{}' >'{}' 2>&1", options,
                              file.string(), out.string())
                      .c_str());
  return read_file(out) + (status == 0 ? "" : fmt::format("trace-cmd ended with {}\n", status));
}

}  // namespace ktraced::test
