// SPDX-License-Identifier: BSD-2-Clause
// The kernel's pointer conversions: "%pS", "%pI4" …
#pragma once

#include <cstddef>
#include <string_view>

#include "decoders/printfmt/print_format.h"

namespace ktraced {

// True if append_pointer() supports this kind, "S" of "%pS". "" is a pointer printed as a number.
// kBitList is a kind too, but for append_bit_list().
[[nodiscard]] bool known_pointer_kind(std::string_view kind);
// The kind of "%*pbl".
inline constexpr std::string_view kBitList = "bl";
// Appends the set bits among the first `bits` of an array, as "0-3,5". Missing bits are not set.
void append_bit_list(const PrintValue& value, size_t bits, TextBuffer& out);
// Appends the value as "%p" with this kind prints it. If bytes are missing in the value, prints 0.
void append_pointer(std::string_view kind, const PrintValue& value,
                    const PrintFormat::Symbol& symbol, TextBuffer& out);

}  // namespace ktraced
