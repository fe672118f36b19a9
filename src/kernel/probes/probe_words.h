// SPDX-License-Identifier: BSD-2-Clause
// Splits a probe's line into words, and parses single words.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/probes/probe_grammar.h"

namespace ktraced {

// A piece of a line with its position.
struct Piece {
  std::string_view text;
  size_t column = 1;

  [[nodiscard]] Piece from(size_t begin) const {
    return {.text = text.substr(begin), .column = column + begin};
  }
  [[nodiscard]] Piece until(size_t end) const {
    return {.text = text.substr(0, end), .column = column};
  }
  [[nodiscard]] bool empty() const { return text.empty(); }
};

template <class... Args>
[[nodiscard]] std::unexpected<GrammarError> wrong(size_t column, fmt::format_string<Args...> format,
                                                  Args&&... args) {
  return std::unexpected(
      GrammarError{.column = column, .message = fmt::format(format, std::forward<Args>(args)...)});
}

template <class T = void>
using Parsed = std::expected<T, GrammarError>;

// A number as in C: decimal, 0x… or 0…; nothing if `text` is not exactly one.
[[nodiscard]] std::optional<uint64_t> unsigned_number(std::string_view text);
// A number as in C with an optional sign; nothing if `text` is not exactly one.
[[nodiscard]] std::optional<int64_t> signed_number(std::string_view text);

// Letters, digits and '_', no digit first; not longer than kProbeNameMax.
[[nodiscard]] bool is_name(std::string_view text);

// The words between blanks. A \"…" may contain blanks; an unquoted '#' at the beginning of a word
// starts a comment.
[[nodiscard]] Parsed<std::vector<Piece>> words_of(std::string_view line);

// [MOD:]SYM±offs or an address.
[[nodiscard]] Parsed<ProbeLocation> parse_location(Piece word);
// [NAME=]FETCHARG[:TYPE]; the name is empty if not given.
[[nodiscard]] Parsed<ProbeArgument> parse_argument(Piece word);
// The text after the colon.
[[nodiscard]] Parsed<FetchType> parse_type(Piece text);

}  // namespace ktraced
