// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/json_text.h"

#include "base/text/json_dump.h"
#include "base/text/plain_text.h"

namespace ktraced {

using nlohmann::json;

std::string json_text(const json& value) {
  // Names of tasks and files may not be UTF-8; JSON must be.
  return printable_json(dump_json(value));
}

}  // namespace ktraced
