// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/json_members.h"

namespace ktraced {

using nlohmann::json;

std::string JsonMembers::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void JsonMembers::note_type(const char* key, std::string_view must) {
  note(fmt::format("'{}' must be {}", path_of(key), must));
}

const json& JsonMembers::any(const char* key) {
  static const json kNull;
  if (!object_.is_object()) return kNull;
  auto found = object_.find(key);
  if (found != object_.end()) return *found;
  note(fmt::format("'{}' is missing", path_of(key)));
  return kNull;
}

uint64_t JsonMembers::number(const char* key, uint64_t max) {
  const json& value = any(key);
  if (value.is_number_unsigned() && value.get<uint64_t>() <= max) return value.get<uint64_t>();
  note_type(key, fmt::format("a number from 0 to {}", max));
  return 0;
}

void JsonMembers::take(const char* key, int64_t& value) {
  const json& found = any(key);
  const bool fits = found.is_number_unsigned() ? found.get<uint64_t>() <= uint64_t{INT64_MAX}
                                               : found.is_number_integer();
  if (!fits) note_type(key, "a whole number");
  value = fits ? found.get<int64_t>() : 0;
}

void JsonMembers::take(const char* key, bool& value) {
  const json& found = any(key);
  if (!found.is_boolean()) note_type(key, "true or false");
  value = found.is_boolean() && found.get<bool>();
}

void JsonMembers::take(const char* key, std::string& value) {
  const json& found = any(key);
  if (!found.is_string()) note_type(key, "a text");
  value = found.is_string() ? found.get<std::string>() : std::string();
}

const json& JsonMembers::object(const char* key) {
  static const json kEmpty = json::object();
  const json& value = any(key);
  if (value.is_object()) return value;
  note_type(key, "an object");
  return kEmpty;
}

const json& JsonMembers::list(const char* key, size_t max_size) {
  static const json kEmpty = json::array();
  const json& value = any(key);
  if (value.is_array() && value.size() <= max_size) return value;
  note_type(key, value.is_array() ? fmt::format("a list of at most {} entries, and has {}",
                                                max_size, value.size())
                                  : "a list");
  return kEmpty;
}

}  // namespace ktraced
