// SPDX-License-Identifier: BSD-2-Clause
// JSON output of answers and reports.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ktraced {

// A document for `--json`, with a newline; indent -1: on one line. Contains no control sequences.
[[nodiscard]] std::string json_text(const nlohmann::json& document, int indent = 2);

// A copy of the document with all strings and keys converted by printable(): for text and pages.
[[nodiscard]] nlohmann::json printable_texts(const nlohmann::json& document);

}  // namespace ktraced
