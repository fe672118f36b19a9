// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/json_text.h"

#include "base/text/json_dump.h"
#include "base/text/plain_text.h"

namespace ktraced {

using nlohmann::json;

std::string json_text(const json& document, int indent) {
  return printable_json(dump_json(document, indent)) + "\n";
}

json printable_texts(const json& document) {
  if (document.is_string()) return printable(document.get_ref<const std::string&>());
  if (!document.is_structured()) return document;
  json out = document.is_array() ? json::array() : json::object();
  for (const auto& [key, value] : document.items()) {
    if (document.is_array())
      out.push_back(printable_texts(value));
    else
      out[printable(key)] = printable_texts(value);
  }
  return out;
}

}  // namespace ktraced
