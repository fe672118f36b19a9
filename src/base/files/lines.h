// SPDX-License-Identifier: BSD-2-Clause
// Text line by line.
#pragma once

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

// Calls `visit` with each line of `text`, without the newline.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// The numbers in a line, behind `label`, as "\nUid:", and up to anything else; empty if the text
// has no such label.
template <class Number>
[[nodiscard]] std::vector<Number> numbers_behind(std::string_view label, std::string_view text) {
  std::vector<Number> numbers;
  const size_t at = text.find(label);
  if (at == std::string_view::npos) return numbers;
  text.remove_prefix(at + label.size());
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return numbers;
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

// The first of numbers_behind(); nothing if there is none.
template <class Number>
[[nodiscard]] std::optional<Number> number_behind(std::string_view label, std::string_view text) {
  const auto numbers = numbers_behind<Number>(label, text);
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

// Calls `visit` with each line of a file, without the newline. The file may have any length: it is
// never in memory as a whole. Fails as read_file(), or with ExitCode::data at a line of 256 KiB or
// more, possibly after some lines were visited.
Result<> for_each_line_of(const std::filesystem::path& path,
                          const std::function<void(std::string_view)>& visit);

}  // namespace ktraced
