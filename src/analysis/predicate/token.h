// SPDX-License-Identifier: BSD-2-Clause
// The words of a predicate.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

struct Token {
  enum class Kind { name, number, text, symbol, end };

  Kind kind = Kind::end;
  std::string text;  // of a text without its quotes
  size_t place = 0;  // first character, from 0
};

// Splits a predicate into tokens; the last one is the end. Fails with ExitCode::usage for a
// character that begins no token, or a text without an end.
[[nodiscard]] Result<std::vector<Token>> tokens_of(std::string_view predicate);

}  // namespace ktraced
