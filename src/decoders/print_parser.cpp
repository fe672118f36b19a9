// From the text of an expression to its tree: precedence climbing.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/c_text.h"
#include "decoders/print_node.h"

namespace ktraced {
namespace {

using Node = PrintExpression::Node;
using Kind = Node::Kind;

constexpr int kMaxDepth = 64;  // of brackets: texts may come from anybody

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return c == '_' || is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct Operator {
  std::string_view text;
  int level;  // binds the tighter the higher
};
// Longer ones before those they begin with.
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

struct IntegerType {
  uint64_t size;
  bool is_signed;
};

// What a cast to `type` gives; nothing if it is no type. Pointers are numbers here.
std::optional<IntegerType> integer_type(std::string_view type) {
  type = trimmed(type);
  if (type.ends_with('*')) return IntegerType{8, false};
  for (std::string_view prefix : {"const ", "enum "})
    if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  struct Name {
    std::string_view name;
    IntegerType type;
  };
  constexpr Name kNames[] = {{"unsigned long long", {8, false}},
                             {"long long", {8, true}},
                             {"unsigned long", {8, false}},
                             {"long", {8, true}},
                             {"unsigned int", {4, false}},
                             {"unsigned", {4, false}},
                             {"int", {4, true}},
                             {"unsigned short", {2, false}},
                             {"short", {2, true}},
                             {"unsigned char", {1, false}},
                             {"char", {1, true}},
                             {"bool", {1, false}},
                             {"u64", {8, false}},
                             {"s64", {8, true}},
                             {"u32", {4, false}},
                             {"s32", {4, true}},
                             {"u16", {2, false}},
                             {"s16", {2, true}},
                             {"u8", {1, false}},
                             {"s8", {1, true}},
                             {"uint64_t", {8, false}},
                             {"int64_t", {8, true}},
                             {"uint32_t", {4, false}},
                             {"int32_t", {4, true}},
                             {"uint16_t", {2, false}},
                             {"uint8_t", {1, false}},
                             {"size_t", {8, false}},
                             {"ssize_t", {8, true}},
                             {"loff_t", {8, true}},
                             {"sector_t", {8, false}},
                             {"dev_t", {4, false}},
                             {"gfp_t", {4, false}},
                             {"pid_t", {4, true}},
                             {"uintptr_t", {8, false}},
                             {"ino_t", {8, false}},
                             {"umode_t", {2, false}},
                             {"long long int", {8, true}},
                             {"long int", {8, true}},
                             {"unsigned long int", {8, false}},
                             {"long unsigned int", {8, false}},
                             {"__u64", {8, false}},
                             {"__u32", {4, false}},
                             {"__u16", {2, false}},
                             {"__u8", {1, false}},
                             {"__s64", {8, true}},
                             {"__s32", {4, true}}};
  auto found = std::ranges::find(kNames, type, &Name::name);
  if (found == std::end(kNames)) return std::nullopt;
  return found->type;
}

class Parser {
 public:
  Parser(std::string_view text, const Event& event) : text_(text), event_(event) {}

  std::optional<Node> whole() {
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
    const auto end = std::ranges::find_if_not(text_, is_word);
    const std::string_view word(text_.begin(), end);
    text_.remove_prefix(word.size());
    return word;
  }
  // The inside of the brackets that open here, which are taken.
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

  std::optional<Node> ternary() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    auto node = binary(0);
    if (node && take("?")) {
      auto yes = ternary();
      if (!yes || !take(":")) return std::nullopt;
      auto no = ternary();
      if (!no) return std::nullopt;
      Node choice{.kind = Kind::ternary};
      choice.parts = {std::move(*node), std::move(*yes), std::move(*no)};
      node = std::move(choice);
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

  std::optional<Node> binary(int level) {
    auto left = unary();
    for (const Operator* op = peek_operator(); left && op != nullptr && op->level > level;
         op = peek_operator()) {
      text_.remove_prefix(op->text.size());
      auto right = binary(op->level);
      if (!right) return std::nullopt;
      Node node{.kind = Kind::binary, .text = std::string(op->text)};
      node.parts = {std::move(*left), std::move(*right)};
      left = std::move(node);
    }
    return left;
  }

  std::optional<Node> unary() {
    skip_spaces();
    for (std::string_view op : {"-", "!", "~"})
      if (take(op)) return around(Node{.kind = Kind::unary, .text = std::string(op)}, unary());
    if (take("&")) return unary();  // the address of an array is the array here
    if (text_.starts_with('(')) return cast_or_brackets();
    return primary();
  }

  static std::optional<Node> around(Node node, std::optional<Node> inner) {
    if (!inner) return std::nullopt;
    node.parts.push_back(std::move(*inner));
    return node;
  }

  std::optional<Node> cast_or_brackets() {
    auto inside = take_brackets();
    if (!inside) return std::nullopt;
    if (auto type = integer_type(*inside))
      return around(Node{.kind = Kind::cast, .number = type->size, .is_signed = type->is_signed},
                    unary());
    return sub_expression(*inside);
  }

  std::optional<Node> sub_expression(std::string_view text) {
    if (++depth_ > kMaxDepth) return std::nullopt;
    Parser parser(text, event_);
    parser.depth_ = depth_;
    auto node = parser.whole();
    --depth_;
    return node;
  }

  std::optional<Node> primary() {
    if (text_.empty()) return std::nullopt;
    if (is_digit(text_.front())) return number();
    if (text_.front() == '"') return literal();
    const std::string_view word = take_word();
    if (word == "REC") return take("->") ? field(take_word()) : std::nullopt;
    if (word == "true" || word == "false")
      return Node{.kind = Kind::number, .number = word == "true" ? 1U : 0U, .is_signed = true};
    auto arguments = take_brackets();
    return arguments ? call(word, *arguments) : std::nullopt;
  }

  std::optional<Node> number() {
    const std::string_view word = take_word();
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const char* begin = word.data() + (hex ? 2 : 0);
    Node node{.kind = Kind::number, .is_signed = true};
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

  std::optional<Node> literal() {
    const size_t begin = 0;
    size_t end = 0;
    while (end < text_.size() && (text_[end] == '"' || is_space(text_[end])))
      end = text_[end] == '"' ? end_of_literal(text_, end) : end + 1;
    auto text = string_literal(text_.substr(begin, end));
    text_.remove_prefix(end);
    if (!text) return std::nullopt;
    return Node{.kind = Kind::text, .text = std::move(*text)};
  }

  std::optional<Node> field(std::string_view name) {
    auto found = std::ranges::find(event_.fields, name, &Field::name);
    if (found == event_.fields.end()) return std::nullopt;
    return Node{.kind = Kind::field, .field = *found};
  }

  std::optional<Node> call(std::string_view name, std::string_view text) {
    auto arguments = split_arguments(text);
    if (!arguments || arguments->empty()) return std::nullopt;
    if (name == "__get_str" || name == "__get_rel_str" || name == "__get_dynamic_array" ||
        name == "__get_rel_dynamic_array")
      return field(arguments->front());
    if (name == "__get_dynamic_array_len" || name == "__get_rel_dynamic_array_len")
      return around(Node{.kind = Kind::array_length}, field(arguments->front()));
    if (name == "__builtin_expect") return sub_expression(arguments->front());
    if (name == "sizeof") return size_of(arguments->front());
    if (name == "__print_flags" && arguments->size() >= 2) return table(Kind::flags, *arguments);
    if (name == "__print_symbolic") return table(Kind::symbolic, *arguments);
    if (name == "__print_hex") return with_arguments(Kind::hex, *arguments, 2);
    if (name == "__print_hex_str") return with_arguments(Kind::hex_str, *arguments, 2);
    if (name == "__print_array") return with_arguments(Kind::array, *arguments, 3);
    return std::nullopt;
  }

  static std::optional<Node> size_of(std::string_view type) {
    auto known = integer_type(type);
    if (!known) return std::nullopt;
    return Node{.kind = Kind::number, .number = known->size};
  }

  std::optional<Node> with_arguments(Kind kind, const std::vector<std::string_view>& arguments,
                                     size_t count) {
    if (arguments.size() != count) return std::nullopt;
    Node node{.kind = kind};
    for (std::string_view argument : arguments) {
      auto part = sub_expression(argument);
      if (!part) return std::nullopt;
      node.parts.push_back(std::move(*part));
    }
    return node;
  }

  // (value, "|", { 1, "a" }, { 2, "b" }); without the delimiter for symbolic.
  std::optional<Node> table(Kind kind, std::vector<std::string_view> arguments) {
    auto node = around(Node{.kind = kind}, sub_expression(arguments.front()));
    if (!node) return std::nullopt;
    arguments.erase(arguments.begin());
    if (kind == Kind::flags) {
      auto delimiter = string_literal(arguments.front());
      if (!delimiter) return std::nullopt;
      node->text = std::move(*delimiter);
      arguments.erase(arguments.begin());
    }
    for (std::string_view entry : arguments)
      if (!add_entry(entry, *node)) return std::nullopt;
    return node;
  }

  bool add_entry(std::string_view entry, Node& node) {
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
  return PrintExpression(std::make_shared<const Node>(std::move(*root)));
}

}  // namespace ktraced
