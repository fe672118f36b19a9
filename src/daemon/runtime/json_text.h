// SPDX-License-Identifier: BSD-2-Clause
// The JSON text of answers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ktraced {

// The JSON text of a value: safe for a terminal, and always UTF-8.
[[nodiscard]] std::string json_text(const nlohmann::json& value);

}  // namespace ktraced
