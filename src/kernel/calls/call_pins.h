// SPDX-License-Identifier: BSD-2-Clause
// Names of the pins of programs on functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ktraced {

// The pin of the program, and of its link, at `place` (CALL_ENTERED or CALL_RETURNED) of a
// function.
[[nodiscard]] std::string call_pin_name(const std::string& function, uint16_t place);

// The functions that pins of these names belong to, each once. Only functions of system calls:
// other names are of other pins, or not ours.
[[nodiscard]] std::vector<std::string> functions_of_pins(const std::vector<std::string>& names);

}  // namespace ktraced
