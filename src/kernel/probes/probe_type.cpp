// SPDX-License-Identifier: BSD-2-Clause
// Parses the types of fetched values.
#include <array>

#include "base/text/suggest.h"
#include "kernel/probes/probe_words.h"

namespace ktraced {
namespace {

using Kind = FetchType::Kind;

constexpr uint64_t kArrayMax = 64;  // elements, as in the kernel

constexpr std::array<std::string_view, 18> kTypeNames = {
    "u8",  "u16", "u32", "u64",  "s8",     "s16",     "s32",    "s64",    "x8",
    "x16", "x32", "x64", "char", "string", "ustring", "symbol", "symstr", "b4@0/32"};

Parsed<> parse_array_size(Piece brackets, FetchType& type) {
  const bool closed = brackets.text.ends_with(']');
  auto count = closed ? unsigned_number(brackets.text.substr(1, brackets.text.size() - 2))
                      : std::optional<uint64_t>();
  if (!count || *count == 0 || *count > kArrayMax)
    return wrong(brackets.column, "'{}' is not a size of an array: write [1] to [{}]",
                 brackets.text, kArrayMax);
  type.count = static_cast<uint8_t>(*count);
  return {};
}

// "b<width>@<offset>/<size>"
std::optional<FetchType> bit_field(std::string_view text) {
  const size_t at = text.find('@'), slash = text.find('/');
  if (!text.starts_with('b') || at == std::string_view::npos || slash == std::string_view::npos ||
      slash < at)
    return std::nullopt;
  auto width = unsigned_number(text.substr(1, at - 1));
  auto offset = unsigned_number(text.substr(at + 1, slash - at - 1));
  auto size = unsigned_number(text.substr(slash + 1));
  if (!width || !offset || !size) return std::nullopt;
  if (*size != 8 && *size != 16 && *size != 32 && *size != 64) return std::nullopt;
  if (*width == 0 || *width > *size || *offset > *size || *width + *offset > *size)
    return std::nullopt;
  return FetchType{.kind = Kind::bit_field,
                   .bytes = static_cast<uint8_t>(*size / 8),
                   .width = static_cast<uint8_t>(*width),
                   .offset = static_cast<uint8_t>(*offset),
                   .count = 0};
}

std::optional<FetchType> plain_type(std::string_view name) {
  if (name == "char") return FetchType{.kind = Kind::character, .bytes = 1};
  if (name == "string") return FetchType{.kind = Kind::string, .bytes = 1};
  if (name == "ustring") return FetchType{.kind = Kind::ustring, .bytes = 1};
  if (name == "symbol") return FetchType{.kind = Kind::symbol};
  if (name == "symstr") return FetchType{.kind = Kind::symstr};
  if (name.empty()) return std::nullopt;
  const std::string_view bits = name.substr(1);
  if (bits != "8" && bits != "16" && bits != "32" && bits != "64") return std::nullopt;
  const auto bytes = static_cast<uint8_t>(*unsigned_number(bits) / 8);
  if (name[0] == 'u') return FetchType{.kind = Kind::number_unsigned, .bytes = bytes};
  if (name[0] == 's') return FetchType{.kind = Kind::number_signed, .bytes = bytes};
  if (name[0] == 'x') return FetchType{.kind = Kind::hexadecimal, .bytes = bytes};
  return std::nullopt;
}

}  // namespace

Parsed<FetchType> parse_type(Piece text) {
  const size_t bracket = text.text.find('[');
  const std::string_view name = text.text.substr(0, bracket);
  auto type = plain_type(name);
  if (!type) type = bit_field(name);
  if (!type && name.starts_with('b') && name.contains('@'))
    return wrong(text.column,
                 "'{}' is not a bit field: write bWIDTH@OFFSET/SIZE with SIZE 8, 16, 32 or 64 and "
                 "WIDTH + OFFSET at most SIZE",
                 name);
  if (!type)
    return wrong(
        text.column, "{}",
        unknown_name("type", name, kTypeNames,
                     "there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, "
                     "symstr and bWIDTH@OFFSET/SIZE"));
  if (bracket != std::string_view::npos)
    if (auto done = parse_array_size(text.from(bracket), *type); !done)
      return std::unexpected(done.error());
  return *type;
}

}  // namespace ktraced
