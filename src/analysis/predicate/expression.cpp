// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "analysis/predicate/token.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

constexpr size_t kLongest = 4096;  // characters
constexpr int kDeepest = 32;       // parentheses and negations
constexpr size_t kMostValues = 256;

constexpr std::array<std::pair<std::string_view, Operator>, 8> kOperators = {{
    {"==", Operator::equal},
    {"!=", Operator::not_equal},
    {"<", Operator::less},
    {"<=", Operator::less_equal},
    {">", Operator::greater},
    {">=", Operator::greater_equal},
    {"&", Operator::has_bits},
    {"~", Operator::like},
}};

class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<Expression> parse() {
    auto whole = any_of();
    if (whole && now().kind != Token::Kind::end)
      return error("expected &&, || or the end" + meant());
    return whole;
  }

 private:
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] bool is(std::string_view symbol) const {
    return now().kind == Token::Kind::symbol && now().text == symbol;
  }
  bool skip(std::string_view symbol) {
    if (!is(symbol)) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] std::unexpected<Error> error(const std::string& what) const {
    return predicate_error(text_, now().place, what);
  }

  // "; did you mean '&&'?" at a word that other languages have for it.
  [[nodiscard]] std::string meant() const {
    if (now().kind != Token::Kind::name) return {};
    if (now().text == "and" || now().text == "AND") return "; did you mean '&&'?";
    if (now().text == "or" || now().text == "OR") return "; did you mean '||'?";
    return {};
  }

  Result<Expression> any_of() {
    return list("||", Expression::Kind::any_of, [this] { return all_of(); });
  }
  Result<Expression> all_of() {
    return list("&&", Expression::Kind::all_of, [this] { return term(); });
  }

  template <class Operand>
  Result<Expression> list(std::string_view separator, Expression::Kind kind, Operand operand) {
    auto first = operand();
    if (!first || !is(separator)) return first;
    Expression all{.kind = kind, .operands = {}, .field = {}, .values = {}, .place = first->place};
    all.operands.push_back(std::move(*first));
    while (skip(separator)) {
      auto next = operand();
      if (!next) return next;
      all.operands.push_back(std::move(*next));
    }
    return all;
  }

  Result<Expression> term() {
    if (++depth_ > kDeepest) return error("nested too deeply");
    auto parsed = nested_term();
    --depth_;
    return parsed;
  }

  Result<Expression> nested_term() {
    const size_t place = now().place;
    if (skip("!")) {
      auto operand = term();
      if (!operand) return operand;
      Expression negation{.kind = Expression::Kind::negation,
                          .operands = {},
                          .field = {},
                          .values = {},
                          .place = place};
      negation.operands.push_back(std::move(*operand));
      return negation;
    }
    if (!skip("(")) return comparison();
    auto inner = any_of();
    if (inner && !skip(")")) return error("expected )" + meant());
    return inner;
  }

  Result<Expression> comparison() {
    if (now().kind != Token::Kind::name) return error("expected the name of a field");
    Expression out{.kind = Expression::Kind::nonzero,
                   .operands = {},
                   .field = now().text,
                   .values = {},
                   .place = now().place};
    ++at_;
    if (now().kind == Token::Kind::name && now().text == "in") return list_of_values(out);
    const bool begins_operand = now().kind == Token::Kind::name || is("(");
    if (begins_operand && (out.field == "not" || out.field == "NOT"))
      return predicate_error(text_, out.place, "'not' is no operator; did you mean '!'?");
    const auto found =
        std::ranges::find_if(kOperators, [this](const auto& each) { return is(each.first); });
    if (found == kOperators.end()) return out;
    ++at_;
    auto literal = value();
    if (!literal) return propagate(literal);
    out.kind = Expression::Kind::comparison;
    out.op = found->second;
    out.values.push_back(std::move(*literal));
    return out;
  }

  Result<Expression> list_of_values(Expression out) {
    ++at_;
    if (!skip("(")) return error("expected ( after 'in'");
    do {
      auto literal = value();
      if (!literal) return propagate(literal);
      if (out.values.size() == kMostValues)
        return error(fmt::format("more than {} values", kMostValues));
      out.values.push_back(std::move(*literal));
    } while (skip(","));
    if (!skip(")")) return error("expected , or )");
    out.kind = Expression::Kind::comparison;
    out.op = Operator::in;
    return out;
  }

  Result<Literal> value() {
    Literal out{.text = {}, .negative = is("-"), .place = now().place};
    if (out.negative) ++at_;
    const Token& token = now();
    if (token.kind == Token::Kind::number) {
      auto number = number_of(token, out.negative);
      if (!number) return propagate(number);
      out.number = *number;
    } else if (token.kind == Token::Kind::name) {
      out.kind = Literal::Kind::name;
      out.text = token.text;
    } else if (token.kind == Token::Kind::text && !out.negative) {
      out.kind = Literal::Kind::text;
      out.text = token.text;
    } else {
      return error("expected a number, a name, or a text in quotes");
    }
    ++at_;
    return out;
  }

  [[nodiscard]] Result<int64_t> number_of(const Token& token, bool negative) const {
    const bool hex = token.text.starts_with("0x") || token.text.starts_with("0X");
    const char* begin = token.text.data() + (hex ? 2 : 0);
    const char* end = token.text.data() + token.text.size();
    uint64_t number = 0;
    const auto [stopped, failure] = std::from_chars(begin, end, number, hex ? 16 : 10);
    const bool below_all = negative && number > uint64_t{1} << 63;
    if (failure != std::errc{} || stopped != end || below_all)
      return error("not a number of at most 64 bits, decimal or as 0x…");
    return static_cast<int64_t>(negative ? 0 - number : number);
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::unexpected<Error> predicate_error(std::string_view text, size_t place,
                                       const std::string& what) {
  const std::string shown = printable(text);
  // Bytes that continue a character of UTF-8 take no column.
  const std::string before = printable(text.substr(0, place));
  const auto columns = std::ranges::count_if(
      before, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
  return std::unexpected(
      Error{.code = ExitCode::usage,
            .message = fmt::format("at character {} of '{}': {}", place + 1, shown, what),
            .excerpt = fmt::format("{}\n{:>{}}", shown, '^', columns + 1)});
}

Result<Expression> parse_expression(std::string_view text) {
  if (text.size() > kLongest)
    return fail(ExitCode::usage, "an expression has at most {} characters", kLongest);
  auto tokens = tokens_of(text);
  if (!tokens) return propagate(tokens);
  return Parser(text, std::move(*tokens)).parse();
}

}  // namespace ktraced
