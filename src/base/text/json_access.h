// SPDX-License-Identifier: BSD-2-Clause
// Reads members of JSON whose structure is not checked: a member that is missing, or of another
// type, is null, zero or empty.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// The member `key` of an object; null if there is none.
[[nodiscard]] inline const nlohmann::json& member(const nlohmann::json& object,
                                                  std::string_view key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

[[nodiscard]] inline uint64_t number_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = member(object, key);
  return value.is_number_integer() ? value.get<uint64_t>() : 0;
}

[[nodiscard]] inline bool flag_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

[[nodiscard]] inline std::string text_at(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

[[nodiscard]] inline const nlohmann::json& list_at(const nlohmann::json& object,
                                                   std::string_view key) {
  static const nlohmann::json kEmpty = nlohmann::json::array();
  const nlohmann::json& value = member(object, key);
  return value.is_array() ? value : kEmpty;
}

[[nodiscard]] inline std::vector<std::string> texts_at(const nlohmann::json& object,
                                                       std::string_view key) {
  std::vector<std::string> texts;
  for (const nlohmann::json& value : list_at(object, key))
    if (value.is_string()) texts.push_back(value.get<std::string>());
  return texts;
}

}  // namespace ktraced
