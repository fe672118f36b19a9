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
#include <vector>

#include "base/error.h"

namespace ktraced {

// Problems found in a JSON text, or in several of which later ones override values of earlier ones.
class Problems {
 public:
  // For a file, problems are reported as "FILE:LINE: key.path: what is wrong"; without a file name
  // as "key.path: what is wrong".
  explicit Problems(std::string_view file = {}) : files_{std::string(file)} {}

  void add(const std::string& path, std::string_view what);
  // In the first text.
  void add_at_line(size_t line, std::string_view what);
  [[nodiscard]] bool any() const { return !messages_.empty(); }
  // All problems: one per line for a file, otherwise in one line.
  [[nodiscard]] Error error(ExitCode code) const;

  // Sets the line of the first text where the first value with this path begins.
  void set_line(const std::string& path, size_t line) {
    places_.try_emplace(path, Place{.file = 0, .line = line});
  }
  // "FILE:LINE" of a value.
  [[nodiscard]] std::optional<std::string> place_of(const std::string& path) const;
  [[nodiscard]] std::optional<size_t> line_of(const std::string& path) const;

  // Adds those of a text that overrides values.
  void append(Problems later);

 private:
  struct Place {
    size_t file = 0;  // in files_
    size_t line = 1;

    auto operator<=>(const Place&) const = default;
  };
  [[nodiscard]] std::string text_of(const Place& place) const;

  std::vector<std::string> files_;
  std::unordered_map<std::string, Place> places_;
  std::multimap<Place, std::string> messages_;  // in one line, in the order found
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
