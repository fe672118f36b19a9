// SPDX-License-Identifier: BSD-2-Clause
// The kernel's own conversions of pointers: "%pS", "%pI4" …
#pragma once

#include <string_view>

#include "decoders/print_format.h"

namespace ktraced {

// Is append_pointer() for this kind, "S" of "%pS"? "" is a pointer shown as a number.
[[nodiscard]] bool known_pointer_kind(std::string_view kind);
// What "%p" with this kind shows of a value. A value without the bytes needed is shown as 0.
void append_pointer(std::string_view kind, const PrintValue& value,
                    const PrintFormat::Symbol& symbol, TextBuffer& out);

}  // namespace ktraced
