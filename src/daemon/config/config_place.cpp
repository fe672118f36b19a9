// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config/config_place.h"

#include <fmt/format.h>

#include "base/files/read_file.h"
#include "daemon/config/config_json.h"

namespace ktraced {
namespace {

constexpr size_t kConfigTextMax = 1U << 20;

std::optional<size_t> line_of(const std::filesystem::path& file, const std::string& path) {
  const auto text = read_file(file, kConfigTextMax);
  if (!text) return std::nullopt;
  Problems problems;
  static_cast<void>(read_json(*text, problems));
  return problems.line_of(path);
}

}  // namespace

std::string with_place(const std::filesystem::path& file, const std::string& message) {
  const auto line = line_of(file, message.substr(0, message.find(": ")));
  if (!line) return fmt::format("{}: {}", file.string(), message);
  return fmt::format("{}:{}: {}", file.string(), *line, message);
}

}  // namespace ktraced
