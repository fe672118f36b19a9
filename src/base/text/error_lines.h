// SPDX-License-Identifier: BSD-2-Clause
// Errors as they stand on standard error and in a log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

// The lines of an error's message, printable. Only errors of a configuration have several, one for
// each problem: elsewhere a line end comes from foreign text and is escaped.
[[nodiscard]] std::vector<std::string> message_lines(const Error& error);

// "PROGRAM: message" for each of them, each with its line end, and the excerpt, indented.
[[nodiscard]] std::string error_lines(std::string_view program, const Error& error);

}  // namespace ktraced
