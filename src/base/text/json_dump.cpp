// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/json_dump.h"

#include <nlohmann/json.hpp>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

using nlohmann::json;

bool has_valid_texts(const json& document) {
  if (document.is_string()) return is_utf8(document.get_ref<const std::string&>());
  if (!document.is_structured()) return true;
  for (const auto& [key, value] : document.items())
    if ((document.is_object() && !is_utf8(key)) || !has_valid_texts(value)) return false;
  return true;
}

json valid_texts(const json& document) {
  if (document.is_string()) return with_replacements(document.get_ref<const std::string&>());
  if (!document.is_structured()) return document;
  json out = document.is_array() ? json::array() : json::object();
  for (const auto& [key, value] : document.items()) {
    if (document.is_array())
      out.push_back(valid_texts(value));
    else
      out[with_replacements(key)] = valid_texts(value);
  }
  return out;
}

}  // namespace

std::string dump_json(const json& document, int indent, bool ascii) {
  if (has_valid_texts(document)) return document.dump(indent, ' ', ascii);
  return valid_texts(document).dump(indent, ' ', ascii);
}

}  // namespace ktraced
