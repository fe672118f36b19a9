// SPDX-License-Identifier: BSD-2-Clause
// Parses the text of an expression into its tree, by precedence climbing.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/c_text.h"
#include "decoders/printfmt/print_node.h"

namespace ktraced {
namespace {

// The text is untrusted. These limits bound the stack of the parser, and of those who walk the
// tree.
constexpr int kMaxDepth = 128;   // of brackets and prefix operators
constexpr int kMaxHeight = 256;  // of the tree: "1 + 1 + 1" is as high as it is long

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
struct Operator {
  std::string_view text;
  int level;  // higher levels bind tighter
};
// Longer operators come before their prefixes.
constexpr std::array<Operator, 18> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"==", 6},
                                                  {"!=", 6},
                                                  {"<<", 8},
                                                  {">>", 8},
                                                  {"<=", 7},
                                                  {">=", 7},
                                                  {"<", 7},
                                                  {">", 7},
                                                  {"|", 3},
                                                  {"^", 4},
                                                  {"&", 5},
                                                  {"+", 9},
                                                  {"-", 9},
                                                  {"*", 10},
                                                  {"/", 10},
                                                  {"%", 10}}};

class Parser {
 public:
  Parser(std::string_view text, const Event& event) : text_(text), event_(event) {}

  std::optional<PrintNode> whole() {
    auto node = ternary();
    skip_spaces();
    return text_.empty() ? std::move(node) : std::nullopt;
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::string_view take_word() {
    skip_spaces();
    const auto end = std::ranges::find_if_not(text_, is_word_char);
    const std::string_view word(text_.begin(), end);
    text_.remove_prefix(word.size());
    return word;
  }
  // Takes a bracketed part and returns its inside.
  std::optional<std::string_view> take_brackets() {
    skip_spaces();
    if (!text_.starts_with('(')) return std::nullopt;
    int depth = 0;
    for (size_t at = 0; at < text_.size();) {
      const char c = text_[at];
      if (c == '"' || c == '\'') {
        at = end_of_literal(text_, at);
        continue;
      }
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      ++at;
      if (depth != 0) continue;
      const std::string_view inside = text_.substr(1, at - 2);
      text_.remove_prefix(at);
      return inside;
    }
    return std::nullopt;
  }

  std::optional<PrintNode> ternary() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    auto node = binary(0);
    if (node && take("?")) {
      node = around(PrintNode{.kind = PrintKind::ternary}, std::move(node));
      node = around(std::move(node), ternary());
      if (!node || !take(":")) return std::nullopt;
      node = around(std::move(node), ternary());
    }
    --depth_;
    return node;
  }

  const Operator* peek_operator() {
    skip_spaces();
    auto found = std::ranges::find_if(
        kOperators, [&](const Operator& op) { return text_.starts_with(op.text); });
    return found == kOperators.end() ? nullptr : &*found;
  }

  std::optional<PrintNode> binary(int level) {
    auto left = unary();
    for (const Operator* op = peek_operator(); left && op != nullptr && op->level > level;
         op = peek_operator()) {
      text_.remove_prefix(op->text.size());
      left = around(PrintNode{.kind = PrintKind::binary, .text = std::string(op->text)},
                    std::move(left));
      left = around(std::move(left), binary(op->level));
    }
    return left;
  }

  std::optional<PrintNode> unary() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    auto node = operand();
    --depth_;
    return node;
  }

  std::optional<PrintNode> operand() {
    skip_spaces();
    for (std::string_view op : {"-", "!", "~"})
      if (take(op))
        return around(PrintNode{.kind = PrintKind::unary, .text = std::string(op)}, unary());
    if (take("&")) return unary();  // the address of an array is treated as the array
    if (text_.starts_with('(')) return cast_or_brackets();
    return primary();
  }

  // Adds `inner` to the parts of `node`. Nothing if either is missing or the tree is too high.
  static std::optional<PrintNode> around(std::optional<PrintNode> node,
                                         std::optional<PrintNode> inner) {
    if (!node || !inner || inner->height >= kMaxHeight) return std::nullopt;
    node->height = std::max(node->height, inner->height + 1);
    node->parts.push_back(std::move(*inner));
    return node;
  }

  std::optional<PrintNode> cast_or_brackets() {
    auto inside = take_brackets();
    if (!inside) return std::nullopt;
    if (auto type = integer_type(*inside))
      return around(
          PrintNode{.kind = PrintKind::cast, .number = type->size, .is_signed = type->is_signed},
          unary());
    return sub_expression(*inside);
  }

  std::optional<PrintNode> sub_expression(std::string_view text) {
    if (++depth_ > kMaxDepth) return std::nullopt;
    Parser parser(text, event_);
    parser.depth_ = depth_;
    auto node = parser.whole();
    --depth_;
    return node;
  }

  std::optional<PrintNode> primary() {
    if (text_.empty()) return std::nullopt;
    if (is_digit_char(text_.front())) return number();
    if (text_.front() == '"') return literal();
    const std::string_view word = take_word();
    if (word == "REC") return take("->") ? member(take_word()) : std::nullopt;
    if (word == "true" || word == "false")
      return PrintNode{
          .kind = PrintKind::number, .number = word == "true" ? 1U : 0U, .is_signed = true};
    auto arguments = take_brackets();
    return arguments ? call(word, *arguments) : std::nullopt;
  }

  std::optional<PrintNode> number() {
    const std::string_view word = take_word();
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const char* begin = word.data() + (hex ? 2 : 0);
    PrintNode node{.kind = PrintKind::number, .is_signed = true};
    const bool octal = !hex && word.size() > 1 && word[0] == '0';
    auto [end, error] = std::from_chars(begin, word.data() + word.size(), node.number,
                                        hex     ? 16
                                        : octal ? 8
                                                : 10);
    if (error != std::errc()) return std::nullopt;
    for (; end != word.data() + word.size(); ++end) {
      if (*end == 'u' || *end == 'U')
        node.is_signed = false;
      else if (*end != 'l' && *end != 'L')
        return std::nullopt;
    }
    return node;
  }

  std::optional<PrintNode> literal() {
    const size_t begin = 0;
    size_t end = 0;
    while (end < text_.size() && (text_[end] == '"' || is_space(text_[end])))
      end = text_[end] == '"' ? end_of_literal(text_, end) : end + 1;
    auto text = string_literal(text_.substr(begin, end));
    text_.remove_prefix(end);
    if (!text) return std::nullopt;
    return PrintNode{.kind = PrintKind::text, .text = std::move(*text)};
  }

  std::optional<PrintNode> member(std::string_view name) {
    auto array = field(name);
    if (!array || !take("[")) return array;
    auto index = ternary();
    if (!take("]")) return std::nullopt;
    return around(around(PrintNode{.kind = PrintKind::element}, std::move(array)),
                  std::move(index));
  }

  std::optional<PrintNode> field(std::string_view name) {
    auto found = std::ranges::find(event_.fields, name, &Field::name);
    if (found == event_.fields.end()) return std::nullopt;
    return PrintNode{.kind = PrintKind::field, .field = *found};
  }

  std::optional<PrintNode> call(std::string_view name, std::string_view text) {
    auto arguments = split_arguments(text);
    if (!arguments || arguments->empty()) return std::nullopt;
    if (name == "__get_str" || name == "__get_rel_str" || name == "__get_dynamic_array" ||
        name == "__get_rel_dynamic_array")
      return field(arguments->front());
    if (name == "__get_dynamic_array_len" || name == "__get_rel_dynamic_array_len")
      return around(PrintNode{.kind = PrintKind::array_length}, field(arguments->front()));
    if (name == "__builtin_expect") return sub_expression(arguments->front());
    if (name == "sizeof") return size_of(arguments->front());
    if (name == "__print_flags" && arguments->size() >= 2)
      return table(PrintKind::flags, *arguments);
    if (name == "__print_symbolic") return table(PrintKind::symbolic, *arguments);
    if (name == "__print_hex") return with_arguments(PrintKind::hex, *arguments, 2);
    if (name == "__print_hex_str") return with_arguments(PrintKind::hex_str, *arguments, 2);
    if (name == "__print_array") return with_arguments(PrintKind::array, *arguments, 3);
    return std::nullopt;
  }

  static std::optional<PrintNode> size_of(std::string_view type) {
    auto known = integer_type(type);
    if (!known) return std::nullopt;
    return PrintNode{.kind = PrintKind::number, .number = known->size};
  }

  std::optional<PrintNode> with_arguments(PrintKind kind,
                                          const std::vector<std::string_view>& arguments,
                                          size_t count) {
    if (arguments.size() != count) return std::nullopt;
    std::optional<PrintNode> node = PrintNode{.kind = kind};
    for (std::string_view argument : arguments)
      node = around(std::move(node), sub_expression(argument));
    return node;
  }

  // (value, "|", { 1, "a" }, { 2, "b" }); without the delimiter for symbolic.
  std::optional<PrintNode> table(PrintKind kind, std::vector<std::string_view> arguments) {
    auto node = around(PrintNode{.kind = kind}, sub_expression(arguments.front()));
    if (!node) return std::nullopt;
    arguments.erase(arguments.begin());
    if (kind == PrintKind::flags) {
      auto delimiter = string_literal(arguments.front());
      if (!delimiter) return std::nullopt;
      node->text = std::move(*delimiter);
      arguments.erase(arguments.begin());
    }
    for (std::string_view entry : arguments)
      if (!add_entry(entry, *node)) return std::nullopt;
    return node;
  }

  bool add_entry(std::string_view entry, PrintNode& node) {
    if (!entry.starts_with('{') || !entry.ends_with('}')) return false;
    auto parts = split_arguments(entry.substr(1, entry.size() - 2));
    if (!parts || parts->size() < 2) return false;
    auto key = sub_expression((*parts)[0]);
    auto name = string_literal((*parts)[1]);
    // Some kernels end a table with { -1, NULL }.
    if (key && !name && (*parts)[1] == "((void *)0)") return true;
    if (!key || !name) return false;
    const std::array<std::byte, sizeof(record)> empty{};
    node.table.emplace_back(value_of(*key, RecordView(empty.data())).number, std::move(*name));
    return true;
  }

  std::string_view text_;
  const Event& event_;
  int depth_ = 0;
};

}  // namespace

std::optional<PrintExpression> PrintExpression::parse(std::string_view text, const Event& event) {
  auto root = Parser(text, event).whole();
  if (!root) return std::nullopt;
  return PrintExpression(std::make_shared<const PrintNode>(std::move(*root)));
}

}  // namespace ktraced
