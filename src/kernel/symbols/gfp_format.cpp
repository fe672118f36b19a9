// SPDX-License-Identifier: BSD-2-Clause
// GFP flag names from the format file of the kmalloc trace event.
#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>

#include "kernel/symbols/gfp_flags.h"

namespace ktraced {

namespace {

constexpr std::string_view kCall = "__print_flags(REC->gfp_flags,";

std::string_view without_space(std::string_view text) {
  auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// One "{mask, "name"}" from the front of `rest`, without the braces; nothing when the list ends.
// Neither masks nor names contain braces.
std::optional<std::string_view> take_entry(std::string_view& rest) {
  size_t begin = rest.find_first_of("{)");
  if (begin == std::string_view::npos || rest[begin] == ')') return std::nullopt;
  size_t end = rest.find('}', begin);
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view entry = rest.substr(begin + 1, end - begin - 1);
  rest.remove_prefix(end + 1);
  return entry;
}

// Splits "mask, "name""; nothing for the last entry, which has no name.
std::optional<std::pair<std::string_view, std::string_view>> split_entry(std::string_view entry) {
  size_t comma = entry.rfind(',');
  if (comma == std::string_view::npos) return std::nullopt;
  std::string_view name = without_space(entry.substr(comma + 1));
  if (name.size() < 2 || name.front() != '"' || name.back() != '"') return std::nullopt;
  return std::pair(entry.substr(0, comma), name.substr(1, name.size() - 2));
}

}  // namespace

Result<std::vector<FlagName>> gfp_flags_from_format(std::string_view format,
                                                    const Constants& constants) {
  size_t call = format.find(kCall);
  if (call == std::string_view::npos)
    return fail(ExitCode::data, "the format of kmalloc does not name gfp_flags");
  std::string_view rest = format.substr(call + kCall.size());
  std::vector<FlagName> flags;
  while (auto entry = take_entry(rest)) {
    auto parts = split_entry(*entry);
    if (!parts) break;
    auto mask = evaluate_c_expression(parts->first, constants);
    if (!mask) return propagate(mask);
    flags.push_back({static_cast<uint32_t>(*mask), std::string(parts->second)});
  }
  if (flags.empty()) return fail(ExitCode::data, "the format of kmalloc names no gfp_flags");
  return flags;
}

}  // namespace ktraced
