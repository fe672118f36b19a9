// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/printfmt/print_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/text/c_text.h"
#include "decoders/printfmt/pointer_text.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

// Bounds a width or precision that a record holds. The kernel prints an event into two pages.
constexpr uint32_t kMaxLength = 8192;

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

// The value of an argument for '*', which C takes as an int.
int32_t int_of(const PrintExpression& argument, RecordView record) {
  return static_cast<int32_t>(argument.value(record).number);
}

}  // namespace

// The arguments after the format text. Each is taken once.
class PrintFormat::Arguments {
 public:
  Arguments(std::span<const std::string_view> texts, const Event& event)
      : texts_(texts), event_(event) {}

  // Nothing if there is none left, or if it is not supported.
  std::optional<PrintExpression> take() {
    if (texts_.empty()) return std::nullopt;
    const std::string_view text = texts_.front();
    texts_ = texts_.subspan(1);
    return PrintExpression::parse(text, event_);
  }
  [[nodiscard]] bool empty() const { return texts_.empty(); }

 private:
  std::span<const std::string_view> texts_;
  const Event& event_;
};

// The part after '%', with its arguments in C's order: width, precision, value.
std::optional<PrintFormat::Piece> PrintFormat::parse_piece(std::string_view& format,
                                                           Arguments& arguments) {
  Piece piece;
  if (!parse_layout(format, arguments, piece)) return std::nullopt;
  piece.bytes = take_length(format);
  if (!parse_conversion(format, piece)) return std::nullopt;
  piece.argument = arguments.take();
  return piece.argument ? std::optional(std::move(piece)) : std::nullopt;
}

bool PrintFormat::parse_layout(std::string_view& format, Arguments& arguments, Piece& piece) {
  auto take_star = [&](std::optional<PrintExpression>& argument) {
    if (!format.starts_with('*')) return false;
    format.remove_prefix(1);
    argument = arguments.take();
    return true;
  };
  while (!format.empty() && std::string_view("-+ #0").contains(format.front())) {
    piece.flags += format.front();
    format.remove_prefix(1);
  }
  piece.layout.left = piece.flags.contains('-');
  if (!take_star(piece.width))
    piece.layout.width = take_number(format);
  else if (!piece.width)
    return false;
  if (!format.starts_with('.')) return true;
  format.remove_prefix(1);
  if (take_star(piece.precision)) return piece.precision.has_value();
  piece.layout.precision = take_number(format);
  return true;
}

bool PrintFormat::parse_conversion(std::string_view& format, Piece& piece) {
  if (format.empty()) return false;
  piece.conversion = format.front() == 'i' ? 'd' : format.front();
  format.remove_prefix(1);
  if (!std::string_view("duxXoscp").contains(piece.conversion)) return false;
  if (piece.conversion != 'p') return true;
  // Like the kernel, treat all following letters and digits as the kind.
  size_t length = 0;
  while (length < format.size() &&
         (is_letter_char(format[length]) || is_digit_char(format[length])))
    ++length;
  piece.pointer_kind = format.substr(0, length);
  format.remove_prefix(length);
  return known_pointer_kind(piece.pointer_kind);
}

std::optional<PrintFormat> PrintFormat::parse(std::string_view print, const Event& event) {
  const auto parts = split_arguments(print);
  if (!parts || parts->empty()) return std::nullopt;
  auto text = string_literal(parts->front());
  if (!text) return std::nullopt;
  const std::span<const std::string_view> given(*parts);
  Arguments arguments(given.subspan(1), event);
  PrintFormat format;
  std::string before;
  for (std::string_view rest = *text; !rest.empty();) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '%' || rest.starts_with('%')) {
      before += c;
      if (c == '%') rest.remove_prefix(1);
      continue;
    }
    auto piece = parse_piece(rest, arguments);
    if (!piece) return std::nullopt;
    piece->before = std::move(before);
    before.clear();
    format.pieces_.push_back(std::move(*piece));
  }
  if (!arguments.empty()) return std::nullopt;
  if (!before.empty()) format.pieces_.push_back({.before = std::move(before)});
  return format;
}

void PrintFormat::append(RecordView record, const Symbol& symbol, TextBuffer& out,
                         const Name& name) const {
  for (const Piece& piece : pieces_) {
    append_printable(piece.before, out);
    if (piece.conversion != 0) append_piece(piece, record, symbol, name, out);
  }
}

// As in C, a negative width pads on the right, and a negative precision is none.
PrintFormat::Layout PrintFormat::layout_of(const Piece& piece, RecordView record) {
  Layout layout = piece.layout;
  if (piece.width) {
    const int64_t width = int_of(*piece.width, record);
    layout.left = layout.left || width < 0;
    layout.width = std::min<uint64_t>(width < 0 ? -width : width, kMaxLength);
  }
  if (piece.precision)
    if (const int32_t precision = int_of(*piece.precision, record); precision >= 0)
      layout.precision = std::min<uint32_t>(precision, kMaxLength);
  return layout;
}

void PrintFormat::append_piece(const Piece& piece, RecordView record, const Symbol& symbol,
                               const Name& name, TextBuffer& out) {
  const PrintValue value = piece.argument->value(record);
  const Layout layout = layout_of(piece, record);
  if (piece.conversion == 's') return append_text(value, layout, out);
  if (piece.conversion == 'c') {
    const char c = static_cast<char>(value.number);
    return pad(c == 0 ? "" : printable({&c, 1}), layout, out);
  }
  if (const Field* field = piece.argument->field(); name && field != nullptr && !value.bytes)
    if (const auto known = name(*field, value.number); !known.empty())
      return pad(printable(known), layout, out);
  if (piece.conversion != 'p') return append_integer(piece, value.number, layout, out);
  if (piece.pointer_kind == kBitList) return append_bit_list(value, layout.width, out);
  TextBuffer text;
  append_pointer(piece.pointer_kind, value, symbol, text);
  pad(text.view(), layout, out);
}

void PrintFormat::append_text(const PrintValue& value, const Layout& layout, TextBuffer& out) {
  std::string_view text = value.text ? std::string_view(*value.text) : "(null)";
  if (value.bytes) text = {reinterpret_cast<const char*>(value.bytes->data()), value.bytes->size()};
  pad(printable(text.substr(0, layout.precision.value_or(text.size()))), layout, out);
}

void PrintFormat::append_integer(const Piece& piece, uint64_t value, const Layout& layout,
                                 TextBuffer& out) {
  const bool is_signed = piece.conversion == 'd';
  const uint64_t number = narrowed(value, piece.bytes, is_signed);
  const bool negative = is_signed && static_cast<int64_t>(number) < 0;
  const std::string prefix = prefix_of(negative, piece.conversion, piece.flags);
  std::string digits =
      digits_of(negative ? 0 - number : number, piece.conversion, layout.precision);
  const bool zeros = piece.flags.contains('0') && !layout.left && !layout.precision;
  if (zeros && prefix.size() + digits.size() < layout.width)
    digits.insert(0, layout.width - prefix.size() - digits.size(), '0');
  pad(prefix + digits, layout, out);
}

void PrintFormat::pad(std::string_view text, const Layout& layout, TextBuffer& out) {
  const size_t missing = layout.width > text.size() ? layout.width - text.size() : 0;
  if (!layout.left) out.append(missing, ' ');
  out.append(text);
  if (layout.left) out.append(missing, ' ');
}

}  // namespace ktraced
