// SPDX-License-Identifier: BSD-2-Clause
// Kernel addresses in texts: messages, definitions of probes.
#pragma once

#include <span>

namespace ktraced {

// Replaces the digits of each kernel address, hexadecimal or decimal, by zeros. The text keeps its
// length, and JSON stays JSON. Never a pseudonym: clients can choose texts that come back.
void blank_addresses(std::span<char> text);

}  // namespace ktraced
