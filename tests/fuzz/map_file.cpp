// SPDX-License-Identifier: BSD-2-Clause
// A perf map file of a process that compiles at run time. The last line that names an address
// holds.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>

#include "base/files/lines.h"
#include "fuzz/fuzz.h"
#include "trace/symbols/perf_map.h"

namespace ktraced::fuzz {
namespace {

std::string lines_of(std::string_view bytes, const std::vector<uint64_t>& addresses) {
  const Fd file(::memfd_create("fuzz", MFD_CLOEXEC));
  require(
      file &&
          ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
          ::lseek(file.get(), 0, SEEK_SET) == 0,
      "there is a file");
  auto lines = perf_map_lines(file, addresses, {.time = std::chrono::hours(1)});
  require(lines.has_value(), "the file is within the limits");
  return std::move(*lines);
}

bool names(std::string_view text, uint64_t address) {
  const auto line = perf_map_line(text);
  return line && address >= line->address && address - line->address < line->size;
}

}  // namespace

void check_input(std::string_view input) {
  const std::vector<uint64_t> addresses = {0, 0x1000, 0x1010, 0x2008, UINT64_MAX - 1};
  const std::string found = lines_of(input, addresses);
  for_each_line(found, [&](std::string_view text) {
    const auto line = perf_map_line(text);
    require(line.has_value(), "a line is read again", text);
    require(line->name.size() <= PerfMapLimits::kName, "a name is short", text);
    require(input.find(line->name) != input.npos, "a name is in the file", text);
  });
  require(lines_of(found, addresses) == found, "what was found is found again", found);
  for (const uint64_t address : addresses) {
    std::string_view last;
    for_each_line(input, [&](std::string_view line) {
      if (line.size() <= PerfMapLimits::kLine && names(line, address)) last = line;
    });
    require(lines_of(input, {address}) == lines_of(last, {address}), "the last line holds", last);
  }
}

}  // namespace ktraced::fuzz
