// SPDX-License-Identifier: BSD-2-Clause
// JSON written by people: with comments, and with the position of every value, so that each problem
// is reported with file, line and key.
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
  // For a file, problems are reported as "FILE:LINE: key.path: what is wrong"; without a file name
  // as "key.path: what is wrong".
  explicit Problems(std::string_view file = {}) : file_(file) {}

  void add(const std::string& path, std::string_view what);
  void add_at_line(size_t line, std::string_view what);
  [[nodiscard]] bool any() const { return !messages_.empty(); }
  // All problems: one per line for a file, otherwise in one line.
  [[nodiscard]] Error error(ExitCode code) const;

  // Sets the line where the value with this path begins.
  void set_line(const std::string& path, size_t line) { lines_.emplace(path, line); }
  [[nodiscard]] std::optional<size_t> line_of(const std::string& path) const;

 private:
  std::string file_;
  std::unordered_map<std::string, size_t> lines_;
  std::multimap<size_t, std::string> messages_;  // by line; within a line, in the order found
};

// Parses `text` and stores the lines of its values in `problems`. Reports invalid JSON, duplicate
// keys and too deep nesting there. Returns nothing if there is no usable value.
[[nodiscard]] std::optional<nlohmann::json> read_json(std::string_view text, Problems& problems);

// The path of a member of an object, or of an element of a list, for Problems.
[[nodiscard]] std::string member_path(const std::string& object, std::string_view key);
[[nodiscard]] std::string element_path(const std::string& list, size_t index);
// A word as written in JSON, truncated if long: safe in a one-line message.
[[nodiscard]] std::string in_quotes(std::string_view word);

}  // namespace ktraced
