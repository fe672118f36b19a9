// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/c_expression.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace ktraced {

namespace {

constexpr int kMaxDepth = 200;  // nested parentheses; the kernel's own reach about 15
constexpr unsigned kBits = 64;

struct Operator {
  std::string_view sign;
  int precedence;  // higher binds tighter
  uint64_t (*apply)(uint64_t, uint64_t);
};
constexpr std::array<Operator, 7> kOperators = {{
    {"<<", 4, [](uint64_t a, uint64_t b) { return b < kBits ? a << b : 0; }},
    {">>", 4, [](uint64_t a, uint64_t b) { return b < kBits ? a >> b : 0; }},
    {"+", 5, [](uint64_t a, uint64_t b) { return a + b; }},
    {"-", 5, [](uint64_t a, uint64_t b) { return a - b; }},
    {"&", 3, [](uint64_t a, uint64_t b) { return a & b; }},
    {"^", 2, [](uint64_t a, uint64_t b) { return a ^ b; }},
    {"|", 1, [](uint64_t a, uint64_t b) { return a | b; }},
}};

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Recursive descent over the text. Stops at the first error.
class Parser {
 public:
  Parser(std::string_view text, const Constants& constants)
      : text_(text), rest_(text), constants_(constants) {}

  Result<uint64_t> parse() {
    uint64_t value = binary(0);
    skip_space();
    if (error_.empty() && !rest_.empty())
      error_ = fmt::format("'{}' is unexpected", rest_.substr(0, 20));
    if (!error_.empty())
      return fail(ExitCode::data, "cannot evaluate '{}': {}", text_.substr(0, 80), error_);
    return value;
  }

 private:
  // An operand and all operators after it that bind tighter than `above`.
  uint64_t binary(int above) {
    uint64_t value = unary();
    while (const Operator* next = peek_operator(above)) {
      rest_.remove_prefix(next->sign.size());
      value = next->apply(value, binary(next->precedence));
    }
    return value;
  }

  uint64_t unary() {
    if (!error_.empty()) return 0;
    if (++depth_ > kMaxDepth) return failed("it is nested too deeply");
    uint64_t value = 0;
    if (take('~'))
      value = ~unary();
    else if (take('-'))
      value = -unary();
    else if (take('+') || take_cast())
      value = unary();
    else
      value = primary();
    depth_--;
    return value;
  }

  uint64_t primary() {
    if (take('(')) {
      uint64_t value = binary(0);
      return take(')') || !error_.empty() ? value : failed("a ')' is missing");
    }
    if (rest_.empty()) return failed("it ends too early");
    if (begins_word(rest_.front())) return constant();
    return number();
  }

  uint64_t constant() {
    std::string_view name = take_word();
    auto found = constants_.find(name);
    if (found == constants_.end()) return failed(fmt::format("{} is not known", name));
    return found->second;
  }

  uint64_t number() {
    bool is_hex = rest_.starts_with("0x") || rest_.starts_with("0X");
    if (is_hex) rest_.remove_prefix(2);
    uint64_t value = 0;
    auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, is_hex ? 16 : 10);
    if (error != std::errc{})
      return failed(fmt::format("'{}' is not a number", rest_.substr(0, 20)));
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    while (!rest_.empty() && std::string_view("uUlL").find(rest_.front()) != std::string_view::npos)
      rest_.remove_prefix(1);
    return value;
  }

  // "(unsigned long)", "( gfp_t)", "(void *)": words in it are not constants.
  bool take_cast() {
    std::string_view start = rest_;
    bool is_type = take('(') && peek_word_is_type();
    while (is_type && !rest_.empty() && begins_word(rest_.front())) {
      take_word();
      skip_space();
    }
    while (is_type && take('*')) continue;
    if (is_type && take(')')) return true;
    rest_ = start;
    return false;
  }

  bool peek_word_is_type() {
    skip_space();
    std::string_view start = rest_;
    std::string_view word = take_word();
    rest_ = start;
    return !word.empty() && begins_word(word.front()) && !constants_.contains(word);
  }

  const Operator* peek_operator(int above) {
    skip_space();
    if (!error_.empty()) return nullptr;
    auto found = std::ranges::find_if(
        kOperators, [this](const Operator& one) { return rest_.starts_with(one.sign); });
    return found != kOperators.end() && found->precedence > above ? &*found : nullptr;
  }

  std::string_view take_word() {
    auto end = std::ranges::find_if_not(rest_, in_word);
    std::string_view word = rest_.substr(0, static_cast<size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void skip_space() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }

  uint64_t failed(std::string why) {
    if (error_.empty()) error_ = std::move(why);
    return 0;
  }

  std::string_view text_, rest_;
  const Constants& constants_;
  std::string error_;
  int depth_ = 0;
};

}  // namespace

Result<uint64_t> evaluate_c_expression(std::string_view text, const Constants& constants) {
  return Parser(text, constants).parse();
}

}  // namespace ktraced
