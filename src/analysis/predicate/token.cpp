// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "analysis/predicate/expression.h"
#include "base/text/c_text.h"

namespace ktraced {
namespace {

// The longer ones first.
constexpr std::array<std::string_view, 15> kSymbols = {"&&", "||", "==", "!=", "<=", ">=", "(", ")",
                                                       ",",  "!",  "<",  ">",  "&",  "~",  "-"};

bool begins_name(char c) { return is_letter_char(c) || c == '_'; }
// Names of probes' fields and of signals: "SIGRTMIN+2", "args.pid".
bool continues_name(char c) { return is_word_char(c) || c == '.' || c == '+'; }

// What who writes half an operator means.
std::string_view meant_by(char c) {
  if (c == '=') return "; did you mean '=='?";
  return c == '|' ? "; did you mean '||'?" : "";
}

}  // namespace

Result<std::vector<Token>> tokens_of(std::string_view predicate) {
  std::vector<Token> tokens;
  size_t at = 0;
  const auto add = [&](Token::Kind kind, size_t length) {
    tokens.push_back(
        {.kind = kind, .text = std::string(predicate.substr(at, length)), .place = at});
    at += length;
  };
  const auto length_while = [&](auto continues) {
    const std::string_view rest = predicate.substr(at);
    return static_cast<size_t>(std::ranges::find_if_not(rest, continues) - rest.begin());
  };
  while (at < predicate.size()) {
    const char c = predicate[at];
    if (c == ' ' || c == '\t' || c == '\n') {
      ++at;
    } else if (is_digit_char(c)) {
      add(Token::Kind::number, length_while(continues_name));
    } else if (begins_name(c)) {
      add(Token::Kind::name, length_while(continues_name));
    } else if (c == '"' || c == '\'') {
      const size_t end = predicate.find(c, at + 1);
      if (end == std::string_view::npos)
        return predicate_error(predicate, at, "this text has no closing quote");
      tokens.push_back({.kind = Token::Kind::text,
                        .text = std::string(predicate.substr(at + 1, end - at - 1)),
                        .place = at});
      at = end + 1;
    } else {
      const auto symbol = std::ranges::find_if(
          kSymbols, [&](std::string_view each) { return predicate.substr(at).starts_with(each); });
      if (symbol == kSymbols.end())
        return predicate_error(
            predicate, at,
            fmt::format("no operator or value begins with this character{}", meant_by(c)));
      add(Token::Kind::symbol, symbol->size());
    }
  }
  tokens.push_back({.kind = Token::Kind::end, .text = {}, .place = predicate.size()});
  return tokens;
}

}  // namespace ktraced
