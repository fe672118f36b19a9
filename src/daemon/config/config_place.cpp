// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_place.h"

#include <fmt/format.h>

#include "daemon/config/config_files.h"

namespace ktraced {

std::string with_place(const std::filesystem::path& file, const std::string& message) {
  std::optional<std::string> place;
  if (const auto files = read_config_files(file))
    place = merge_config(*files).problems.place_of(message.substr(0, message.find(": ")));
  return fmt::format("{}: {}", place.value_or(file.string()), message);
}

}  // namespace ktraced
