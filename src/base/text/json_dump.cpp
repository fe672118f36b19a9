// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/json_dump.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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

json valid_texts(const json& document) {
  if (document.is_string()) return with_replacements(document.get_ref<const std::string&>());
  json out = document;
  if (document.is_array()) std::ranges::transform(document, out.begin(), valid_texts);
  if (!document.is_object()) return out;
  out = json::object();
  for (const auto& [key, value] : document.items())
    out[with_replacements(key)] = valid_texts(value);
  return out;
}

}  // namespace

std::string dump_json(const json& document, int indent, bool ascii) {
  if (has_valid_texts(document)) return document.dump(indent, ' ', ascii);
  return valid_texts(document).dump(indent, ' ', ascii);
}

}  // namespace ktraced
