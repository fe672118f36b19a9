// SPDX-License-Identifier: BSD-2-Clause
// Parses the arguments of a probe: [NAME=]FETCHARG[:TYPE].
#include <algorithm>
#include <array>

#include "base/text/suggest.h"
#include "kernel/probes/probe_words.h"

namespace ktraced {
namespace {

using Source = FetchSource::Kind;
using Kind = FetchType::Kind;

constexpr size_t kDereferencesMax = 16;
constexpr uint64_t kArgumentMax = 6;  // those in registers

constexpr std::array<std::string_view, 21> kRegisters = {
    "r15", "r14", "r13", "r12", "bp",      "bx", "r11", "r10",   "r9", "r8", "ax",
    "cx",  "dx",  "si",  "di",  "orig_ax", "ip", "cs",  "flags", "sp", "ss"};

Parsed<FetchSource> parse_register(Piece text) {
  const std::string_view name = text.text.substr(1);
  if (std::ranges::find(kRegisters, name) == kRegisters.end())
    return wrong(text.column, "{}",
                 unknown_name("register", name, kRegisters,
                              fmt::format("x86-64 has {}", fmt::join(kRegisters, " "))));
  return FetchSource{.kind = Source::register_value, .name = std::string(name)};
}

Parsed<FetchSource> parse_memory(Piece text) {
  const Piece place = text.from(1);
  if (auto address = unsigned_number(place.text))
    return FetchSource{.kind = Source::address, .number = static_cast<int64_t>(*address)};
  auto location = parse_location(place);
  if (!location || location->is_pattern())
    return wrong(place.column, "'{}' is neither an address nor SYMBOL±OFFSET", place.text);
  std::string name = location->symbol;
  if (!location->module.empty()) name = location->module + ":" + name;
  return FetchSource{.kind = Source::symbol, .name = std::move(name), .number = location->offset};
}

Parsed<std::vector<MemberStep>> parse_members(Piece text) {
  std::vector<MemberStep> steps;
  while (!text.empty()) {
    const bool arrow = text.text.starts_with("->");
    const Piece rest = text.from(arrow ? 2 : 1);
    const size_t end = std::min(rest.text.find_first_of("-."), rest.text.size());
    if ((!arrow && text.text[0] != '.') || !is_name(rest.text.substr(0, end)))
      return wrong(text.column, "'{}' is not a member: write ->NAME or .NAME", text.text);
    steps.push_back({.arrow = arrow, .name = std::string(rest.text.substr(0, end))});
    text = rest.from(end);
  }
  return steps;
}

Parsed<FetchSource> with_members(FetchSource source, Piece members) {
  auto steps = parse_members(members);
  if (!steps) return std::unexpected(steps.error());
  source.members = std::move(*steps);
  return source;
}

// The number behind "$arg" or "$stack"; nothing if it is not at most `max`.
std::optional<int64_t> number_after(std::string_view text, size_t prefix, uint64_t max) {
  auto number = unsigned_number(text.substr(prefix));
  if (!number || *number > max) return std::nullopt;
  return static_cast<int64_t>(*number);
}

Parsed<FetchSource> parse_dollar(Piece text) {
  constexpr uint64_t kStackEntriesMax = 1024;
  constexpr std::string_view kReturn = "$retval", kArgument = "$arg", kStack = "$stack";
  const std::string_view word = text.text;
  if (word == "$comm" || word == "$COMM") return FetchSource{.kind = Source::comm};
  if (word == kStack) return FetchSource{.kind = Source::stack_address};
  if (word == "$arg*") return FetchSource{.kind = Source::all_arguments};
  if (word.starts_with(kReturn))
    return with_members({.kind = Source::return_value}, text.from(kReturn.size()));
  if (word.starts_with(kArgument)) {
    auto number = number_after(word, kArgument.size(), kArgumentMax);
    if (!number || *number == 0)
      return wrong(text.column,
                   "'{}' is none of the arguments in registers, which are $arg1 to $arg{}", word,
                   kArgumentMax);
    return FetchSource{.kind = Source::argument, .number = *number};
  }
  if (word.starts_with(kStack)) {
    auto number = number_after(word, kStack.size(), kStackEntriesMax);
    if (!number)
      return wrong(text.column, "'{}' is not an entry of the stack: write $stack0 to $stack{}",
                   word, kStackEntriesMax);
    return FetchSource{.kind = Source::stack_entry, .number = *number};
  }
  return wrong(text.column,
               "there is no variable '{}'; there are $argN, $arg*, $retval, $stack, $stackN and "
               "$comm",
               word);
}

Parsed<FetchSource> parse_constant(Piece text) {
  const Piece value = text.from(1);
  if (value.text.starts_with('"')) {
    if (value.text.size() < 2 || !value.text.ends_with('"'))
      return wrong(value.column, "a \\\" string must end with '\"'");
    return FetchSource{.kind = Source::text,
                       .name = std::string(value.text.substr(1, value.text.size() - 2))};
  }
  auto number = signed_number(value.text);
  if (!number)
    return wrong(value.column, "'{}' is not a number: write \\123, \\-1, \\0x7f or \\\"text\"",
                 value.text);
  return FetchSource{.kind = Source::immediate, .number = *number};
}

Parsed<FetchSource> parse_source(Piece text) {
  if (text.empty())
    return wrong(text.column, "a value is missing: write %REG, $argN, $retval, @SYMBOL, …");
  switch (text.text[0]) {
    case '%':
      return parse_register(text);
    case '@':
      return parse_memory(text);
    case '$':
      return parse_dollar(text);
    case '\\':
      return parse_constant(text);
    default:
      break;
  }
  const size_t end = std::min(text.text.find_first_of("-."), text.text.size());
  if (!is_name(text.text.substr(0, end)))
    return wrong(
        text.column,
        "'{}' is not a value: write %REG, $argN, $retval, $stackN, $comm, @SYMBOL, +OFFS(…), "
        "\\NUMBER or the name of an argument",
        text.text);
  return with_members({.kind = Source::variable, .name = std::string(text.text.substr(0, end))},
                      text.from(end));
}

// Strips "+OFFS(" and ")" from `text`, outermost first. False if it has none.
Parsed<bool> take_dereference(Piece& text, std::vector<Dereference>& chain) {
  if (text.empty() || (text.text[0] != '+' && text.text[0] != '-')) return false;
  const size_t open = text.text.find('(');
  if (open == std::string_view::npos)
    return wrong(text.column, "'{}' has no '(': memory is read by {}OFFS(VALUE)", text.text,
                 text.text[0]);
  if (!text.text.ends_with(')')) return wrong(text.column + text.text.size(), "a ')' is missing");
  std::string offset(text.text.substr(0, open));
  Dereference dereference{.offset = 0, .user = offset.size() > 1 && offset[1] == 'u'};
  if (dereference.user) offset.erase(1, 1);
  auto value = signed_number(offset);
  if (!value)
    return wrong(text.column, "'{}' is not an offset: give a number of bytes, as in +8(VALUE)",
                 text.text.substr(0, open));
  dereference.offset = *value;
  if (chain.size() == kDereferencesMax)
    return wrong(text.column, "memory is read through at most {} pointers", kDereferencesMax);
  chain.push_back(dereference);
  text = text.until(text.text.size() - 1).from(open + 1);
  return true;
}

Parsed<> parse_value(Piece text, ProbeArgument& argument) {
  for (;;) {
    auto taken = take_dereference(text, argument.dereferences);
    if (!taken) return std::unexpected(taken.error());
    if (!*taken) break;
  }
  std::ranges::reverse(argument.dereferences);
  if (text.text.find(')') != std::string_view::npos && !text.text.starts_with("\\\""))
    return wrong(text.column + text.text.find(')'), "a '(' is missing");
  auto source = parse_source(text);
  if (!source) return std::unexpected(source.error());
  argument.source = std::move(*source);
  return {};
}

// Position of the type's ':', which is neither in a text nor that of @MOD:SYM inside brackets.
size_t type_colon(std::string_view text) {
  if (text.starts_with("\\\"")) return text.find(':', text.rfind('"'));
  const size_t close = text.rfind(')');
  if (close != std::string_view::npos) return text.find(':', close);
  const size_t last = text.rfind(':');
  if (!text.starts_with('@') || last == std::string_view::npos) return last;
  // @MOD:SYM: its colon is the type's only if a type follows or another colon is before it.
  const bool is_type =
      text.find(':') != last || parse_type({.text = text.substr(last + 1)}).has_value();
  return is_type ? last : std::string_view::npos;
}

// Checks that the type fits the value.
Parsed<> check_type(const ProbeArgument& argument) {
  const Source source = argument.source.kind;
  const bool constant_text =
      argument.dereferences.empty() && (source == Source::comm || source == Source::text);
  const FetchType& type = argument.type;
  const bool in_memory = !argument.dereferences.empty() || source == Source::address ||
                         source == Source::symbol || source == Source::variable;
  if (constant_text && type.kind != Kind::automatic && type.kind != Kind::string)
    return wrong(argument.type_column, "a text has no type '{}': leave it out", text_of(type));
  if (type.is_text() && !in_memory && !constant_text && argument.source.members.empty())
    return wrong(argument.type_column, "a {0} is read from memory: write +0(VALUE):{0}",
                 text_of(type));
  if (type.count != 0 && type.is_text())
    return wrong(argument.type_column,
                 "an array of texts cannot be fetched: fetch each as a value of its own");
  if (type.count != 0 && !in_memory && argument.source.members.empty())
    return wrong(argument.type_column, "an array is read from memory: write +0(VALUE):{}",
                 text_of(type));
  return {};
}

}  // namespace

const std::vector<std::string_view>& register_names() {
  static const std::vector<std::string_view> names(kRegisters.begin(), kRegisters.end());
  return names;
}

Parsed<ProbeArgument> parse_argument(Piece word) {
  ProbeArgument argument;
  argument.column = word.column;
  const size_t equals = word.text.find('=');
  const size_t quote = word.text.find('"');
  if (equals != std::string_view::npos && equals < quote) {
    const Piece name = word.until(equals);
    if (!is_name(name.text))
      return wrong(name.column,
                   "'{}' is not a name of a field: use at most {} letters, digits and "
                   "'_', no digit first",
                   name.text, kProbeNameMax);
    argument.name = name.text;
    word = word.from(equals + 1);
  }
  const size_t colon = type_colon(word.text);
  argument.type_column = word.column;
  if (colon != std::string_view::npos) {
    argument.type_column = word.column + colon + 1;
    auto type = parse_type(word.from(colon + 1));
    if (!type) return std::unexpected(type.error());
    argument.type = *type;
  }
  if (auto done = parse_value(word.until(colon), argument); !done)
    return std::unexpected(done.error());
  if (auto done = check_type(argument); !done) return std::unexpected(done.error());
  return argument;
}

}  // namespace ktraced
