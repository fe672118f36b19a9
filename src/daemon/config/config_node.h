// SPDX-License-Identifier: BSD-2-Clause
// Reads configuration values and reports invalid ones.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/config_json.h"

namespace ktraced {

// The range of a number.
struct NumberRule {
  uint32_t min;
  uint32_t max;
  bool power_of_two = false;  // then `min` is one, too
  std::string_view why_max;   // explains the limit; ends the message about a larger number
};

// A text, with the same rule in two notations: for the JSON Schema and for the daemon.
struct TextRule {
  std::string_view pattern = R"(^[^\u0000]*$)";  // ECMA 262, of the whole text
  std::string_view not_pattern;                  // matches no part of it; empty: no such rule
  size_t max_bytes = SIZE_MAX;
  // What is wrong with a text; empty: nothing.
  std::string (*problem_of)(std::string_view) = nullptr;
};

inline constexpr NumberRule kUid{.min = 0, .max = UINT32_MAX - 1};  // (uid_t)-1 is no user

// A value and its path. Functions report an invalid value and then return nothing. Refers to the
// value and the problems.
class ConfigNode {
 public:
  ConfigNode(const nlohmann::json& value, std::string path, Problems& problems)
      : value_(&value), path_(std::move(path)), problems_(&problems) {}

  [[nodiscard]] const nlohmann::json& value() const { return *value_; }

  // Reports the keys of an object that are not known.
  void check_keys(const std::vector<std::string_view>& known_keys) const;
  // The value of `key` in this object, if it has one.
  [[nodiscard]] std::optional<ConfigNode> member(std::string_view key) const;
  // The elements of a list.
  [[nodiscard]] std::vector<ConfigNode> list(size_t max_size) const;
  [[nodiscard]] std::optional<uint32_t> number(const NumberRule& rule) const;
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::string> text(const TextRule& rule = {}) const;  // without NUL
  // A text that is one of these.
  [[nodiscard]] std::optional<std::string> choice(
      const std::vector<std::string_view>& choices) const;

  template <class... Args>
  void problem(fmt::format_string<Args...> format, Args&&... args) const {
    problems_->add(path_, fmt::format(format, std::forward<Args>(args)...));
  }
  // "must be X, not a string"
  void wrong_type(std::string_view expected) const;

 private:
  const nlohmann::json* value_;
  std::string path_;
  Problems* problems_;
};

}  // namespace ktraced
