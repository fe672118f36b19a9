// SPDX-License-Identifier: BSD-2-Clause
// Texts in columns of a terminal, where a character may be two columns wide, or none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ktraced {

// The columns of a printable() text.
[[nodiscard]] size_t text_columns(std::string_view text);
// The beginning of `text` that fits into `columns`; never a part of a character.
[[nodiscard]] std::string cut_to(std::string_view text, size_t columns);
// The text with exactly that many columns: cut, or filled with spaces on its right or left.
[[nodiscard]] std::string filled_to(std::string_view text, size_t columns, bool right = false);

}  // namespace ktraced
