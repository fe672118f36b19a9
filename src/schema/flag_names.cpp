// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "schema/names.h"

namespace ktraced {

std::string flag_names(uint64_t flags, const std::vector<FlagName>& table) {
  std::string names;
  auto append = [&names](std::string_view name) {
    if (!names.empty()) names += '|';
    names += name;
  };
  for (const FlagName& flag : table) {
    if (flags == 0) break;
    if ((flags & flag.mask) != flag.mask) continue;
    append(flag.name);
    flags &= ~flag.mask;
  }
  if (flags != 0) append(fmt::format("{:#x}", flags));
  return names;
}

std::string gfp_names(uint32_t flags, const std::vector<FlagName>& table) {
  return flags == 0 ? "none" : flag_names(flags, table);
}

}  // namespace ktraced
