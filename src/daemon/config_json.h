// SPDX-License-Identifier: BSD-2-Clause
// JSON that people write: with comments, read together with the place of every
// value, so that each problem can be named with file, line and key.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"

namespace ktraced {

// Problems found in one JSON text.
class Problems {
 public:
  // For a file, problems are told as "FILE:LINE: key.path: what is wrong"; without a file name
  // as "key.path: what is wrong".
  explicit Problems(std::string_view file = {}) : file_(file) {}

  void add(const std::string& path, std::string_view what);
  void add_at_line(size_t line, std::string_view what);
  [[nodiscard]] bool any() const { return !messages_.empty(); }
  // All of them, one a line for a file, else in one line.
  [[nodiscard]] Error error(ExitCode code) const;

  // Where the value with this path begins, as far as it is known.
  void set_line(const std::string& path, size_t line) { lines_.emplace(path, line); }
  [[nodiscard]] std::optional<size_t> line_of(const std::string& path) const;

 private:
  std::string file_;
  std::unordered_map<std::string, size_t> lines_;
  std::multimap<size_t, std::string> messages_;  // by line, else in the order found
};

// Parses `text`, notes the lines of its values in `problems`, and reports there what is not
// JSON, duplicate keys and too deep nesting. Nothing if there is no value to go on with.
[[nodiscard]] std::optional<nlohmann::json> read_json(std::string_view text, Problems& problems);

// The path of a member of an object, or of an element of a list, for Problems.
[[nodiscard]] std::string member_path(const std::string& object, std::string_view key);
[[nodiscard]] std::string element_path(const std::string& list, size_t index);
// A word as it stands in JSON, cut if it is long: safe to print in a message of one line.
[[nodiscard]] std::string in_quotes(std::string_view word);

}  // namespace ktraced
