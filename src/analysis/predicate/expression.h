// SPDX-License-Identifier: BSD-2-Clause
// The syntax of predicates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

enum class Operator : uint8_t {
  equal,          // ==
  not_equal,      // !=
  less,           // <
  less_equal,     // <=
  greater,        // >
  greater_equal,  // >=
  has_bits,       // & : one of the bits is set
  like,           // ~ : a text matches a pattern with * and ?
  in,             // in (…): equals one of several
};

// A value as typed.
struct Literal {
  enum class Kind : uint8_t { number, name, text };

  Kind kind = Kind::number;
  int64_t number = 0;  // of a number; numbers above INT64_MAX wrap
  std::string text;    // of a name, without its sign, or of a text
  bool negative = false;
  size_t place = 0;  // first character, from 0
};

// A comparison, or a combination of others.
struct Expression {
  enum class Kind : uint8_t { any_of, all_of, negation, comparison, nonzero };

  Kind kind = Kind::nonzero;
  std::vector<Expression> operands;  // of any_of, all_of and negation
  std::string field;                 // of comparison and nonzero
  Operator op = Operator::equal;
  std::vector<Literal> values;  // one; for `in` at least one
  size_t place = 0;             // of the field
};

// An error at a character of `text` (from 0): "at character 5 of '…': WHAT", with an excerpt.
[[nodiscard]] std::unexpected<Error> predicate_error(std::string_view text, size_t place,
                                                     const std::string& what);

// Parses
//
//   all_of { "||" all_of },  all_of: term { "&&" term }
//   term: "!" term | "(" any_of ")" | FIELD | FIELD OPERATOR VALUE | FIELD "in" "(" VALUE { ","
//   VALUE } ")"
//
// A value is a number (12, -1, 0x1f), a name (openat, -ENOENT), or a text in quotes. Fails with
// ExitCode::usage, and says where. Nesting and length are bounded.
[[nodiscard]] Result<Expression> parse_expression(std::string_view text);

}  // namespace ktraced
