// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/printfmt/print_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/c_text.h"
#include "decoders/printfmt/pointer_text.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

size_t take_number(std::string_view& text) {
  size_t value = 0;
  for (; !text.empty() && is_digit_char(text.front()) && value < 10000; text.remove_prefix(1))
    value = value * 10 + static_cast<size_t>(text.front() - '0');
  return value;
}

// The size of the integer, in bytes, that a length modifier selects.
unsigned take_length(std::string_view& text) {
  struct Length {
    std::string_view modifier;
    unsigned bytes;
  };
  constexpr std::array<Length, 8> kLengths = {
      {{"hh", 1}, {"h", 2}, {"ll", 8}, {"l", 8}, {"L", 8}, {"z", 8}, {"t", 8}, {"j", 8}}};
  for (const Length& length : kLengths)
    if (text.starts_with(length.modifier)) {
      text.remove_prefix(length.modifier.size());
      return length.bytes;
    }
  return 4;
}

void pad(std::string_view text, const std::string& flags, size_t width, TextBuffer& out) {
  const size_t missing = width > text.size() ? width - text.size() : 0;
  const bool left = flags.contains('-');
  if (!left) out.append(missing, ' ');
  out.append(text);
  if (left) out.append(missing, ' ');
}

uint64_t narrowed(uint64_t value, unsigned bytes, bool is_signed) {
  if (bytes >= 8) return value;
  const unsigned shift = 64 - bytes * 8;
  return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift)
                   : value << shift >> shift;
}

// Digits of a magnitude, zero-padded to the precision.
std::string digits_of(uint64_t magnitude, char conversion, std::optional<size_t> precision) {
  std::string digits = conversion == 'x'   ? fmt::format("{:x}", magnitude)
                       : conversion == 'X' ? fmt::format("{:X}", magnitude)
                       : conversion == 'o' ? fmt::format("{:o}", magnitude)
                                           : fmt::format("{}", magnitude);
  if (precision && digits.size() < *precision) digits.insert(0, *precision - digits.size(), '0');
  return digits;
}

std::string prefix_of(bool negative, char conversion, const std::string& flags) {
  if (negative) return "-";
  if (flags.contains('#') && (conversion == 'x' || conversion == 'X'))
    return conversion == 'x' ? "0x" : "0X";
  if (flags.contains('#') && conversion == 'o') return "0";
  if (conversion != 'd') return "";
  return flags.contains('+') ? "+" : flags.contains(' ') ? " " : "";
}

}  // namespace

std::optional<PrintFormat::Piece> PrintFormat::parse_conversion(std::string_view& format) {
  Piece piece;
  while (!format.empty() && std::string_view("-+ #0").contains(format.front())) {
    piece.flags += format.front();
    format.remove_prefix(1);
  }
  piece.width = take_number(format);
  if (format.starts_with('.')) {
    format.remove_prefix(1);
    piece.precision = take_number(format);
  }
  piece.bytes = take_length(format);
  if (format.empty()) return std::nullopt;
  piece.conversion = format.front() == 'i' ? 'd' : format.front();
  format.remove_prefix(1);
  if (!std::string_view("duxXoscp").contains(piece.conversion)) return std::nullopt;
  if (piece.conversion != 'p') return piece;
  // Like the kernel, treat all following letters and digits as the kind.
  size_t length = 0;
  while (length < format.size() &&
         (is_letter_char(format[length]) || is_digit_char(format[length])))
    ++length;
  piece.pointer_kind = format.substr(0, length);
  format.remove_prefix(length);
  return known_pointer_kind(piece.pointer_kind) ? std::optional(std::move(piece)) : std::nullopt;
}

std::optional<PrintFormat> PrintFormat::parse(std::string_view print, const Event& event) {
  auto arguments = split_arguments(print);
  if (!arguments || arguments->empty()) return std::nullopt;
  auto text = string_literal(arguments->front());
  if (!text) return std::nullopt;
  PrintFormat format;
  std::string before;
  size_t next = 1;
  for (std::string_view rest = *text; !rest.empty();) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '%' || rest.starts_with('%')) {
      before += c;
      if (c == '%') rest.remove_prefix(1);
      continue;
    }
    auto piece = parse_conversion(rest);
    if (!piece || next >= arguments->size()) return std::nullopt;
    piece->argument = PrintExpression::parse((*arguments)[next++], event);
    if (!piece->argument) return std::nullopt;
    piece->before = std::move(before);
    before.clear();
    format.pieces_.push_back(std::move(*piece));
  }
  if (next != arguments->size()) return std::nullopt;
  if (!before.empty()) format.pieces_.push_back({.before = std::move(before)});
  return format;
}

void PrintFormat::append(RecordView record, const Symbol& symbol, TextBuffer& out) const {
  for (const Piece& piece : pieces_) {
    append_printable(piece.before, out);
    if (piece.conversion != 0) append_piece(piece, record, symbol, out);
  }
}

void PrintFormat::append_piece(const Piece& piece, RecordView record, const Symbol& symbol,
                               TextBuffer& out) {
  const PrintValue value = piece.argument->value(record);
  if (piece.conversion == 's') {
    std::string text = value.text ? printable(*value.text) : std::string("(null)");
    if (value.bytes)
      text = printable({reinterpret_cast<const char*>(value.bytes->data()), value.bytes->size()});
    if (piece.precision) text.resize(std::min(text.size(), *piece.precision));
    return pad(text, piece.flags, piece.width, out);
  }
  if (piece.conversion == 'c') {
    const char c = static_cast<char>(value.number);
    return pad(c == 0 ? "" : printable({&c, 1}), piece.flags, piece.width, out);
  }
  if (piece.conversion == 'p') {
    TextBuffer text;
    append_pointer(piece.pointer_kind, value, symbol, text);
    return pad(text.view(), piece.flags, piece.width, out);
  }
  const bool is_signed = piece.conversion == 'd';
  const uint64_t number = narrowed(value.number, piece.bytes, is_signed);
  const bool negative = is_signed && static_cast<int64_t>(number) < 0;
  const std::string prefix = prefix_of(negative, piece.conversion, piece.flags);
  std::string digits = digits_of(negative ? 0 - number : number, piece.conversion, piece.precision);
  const bool zeros = piece.flags.contains('0') && !piece.flags.contains('-') && !piece.precision;
  if (zeros && prefix.size() + digits.size() < piece.width)
    digits.insert(0, piece.width - prefix.size() - digits.size(), '0');
  pad(prefix + digits, piece.flags, piece.width, out);
}

}  // namespace ktraced
