// SPDX-License-Identifier: BSD-2-Clause
// Answers and reports as they are printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ktraced {

// A document for `--json`, with its line end; -1: on one line. Nothing in it drives a terminal.
[[nodiscard]] std::string json_text(const nlohmann::json& document, int indent = 2);

// The same document with every text, keys too, as printable() shows it: for text and pages.
[[nodiscard]] nlohmann::json printable_texts(const nlohmann::json& document);

}  // namespace ktraced
