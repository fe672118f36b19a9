// SPDX-License-Identifier: BSD-2-Clause
// A map file of a program that compiles at run time. The last line that names an address holds.
#include "decoders/symbols/map_file.h"

#include "base/files/lines.h"
#include "fuzz/fuzz.h"

namespace ktraced::fuzz {

void check_input(std::string_view input) {
  const auto names = map_names(input);
  if (!names) return require_error(names.error(), ExitCode::data);
  std::string_view last;
  for_each_line(input, [&](std::string_view line) { last = line; });
  const auto alone = map_names(last);
  require(alone.has_value(), "a line is read alone");
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{0x1000}, uint64_t{0x1010}, uint64_t{0x2008}, UINT64_MAX}) {
    const auto found = names->at(address), by_last = alone->at(address);
    if (found) require(input.find(found->name) != input.npos, "a name is in the file", found->name);
    if (by_last)
      require(found && found->name == by_last->name && found->offset == by_last->offset,
              "the last line holds", last);
  }
}

}  // namespace ktraced::fuzz
