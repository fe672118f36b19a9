// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/json_dump.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

bool has_valid_texts(const json& document) {
  if (document.is_string()) return is_utf8(document.get_ref<const std::string&>());
  if (document.is_array()) return std::ranges::all_of(document, has_valid_texts);
  if (!document.is_object()) return true;
  return std::ranges::all_of(document.items(), [](const auto& member) {
    return is_utf8(member.key()) && has_valid_texts(member.value());
  });
}

// Keys that become equal stay different members by more U+FFFD.
void replace_invalid_bytes(json& value) {
  if (value.is_string()) value = with_replacements(value.get_ref<const std::string&>());
  if (!value.is_structured()) return;
  for (json& member : value) replace_invalid_bytes(member);
  if (!value.is_object()) return;
  auto& members = value.get_ref<json::object_t&>();
  for (auto next = members.begin(); next != members.end();) {
    const auto member = next++;
    if (is_utf8(member->first)) continue;
    auto renamed = members.extract(member);
    renamed.key() = with_replacements(renamed.key());
    while (members.contains(renamed.key())) renamed.key() += kReplacementCharacter;
    members.insert(std::move(renamed));
  }
}

}  // namespace

std::string dump_json(const json& document, int indent, bool ascii) {
  if (has_valid_texts(document)) return document.dump(indent, ' ', ascii);
  json valid = document;
  replace_invalid_bytes(valid);
  return valid.dump(indent, ' ', ascii);
}

}  // namespace ktraced
