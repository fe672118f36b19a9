// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/printfmt/print_expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "decoders/printfmt/print_node.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

PrintValue number(uint64_t value, bool is_signed = true) {
  return {.number = value, .is_signed = is_signed};
}
PrintValue text(std::string value) { return {.text = std::move(value)}; }

PrintValue field_value(const Field& field, RecordView record) {
  if (field.meaning == Meaning::text) return text(std::string(text_of(field, record)));
  if (is_scalar(field)) return number(integer_of(field, record).value_or(0), field.is_signed);
  const Elements elements = elements_of(field, record);
  const auto bytes = record.bytes();
  const size_t begin = std::min(elements.offset, bytes.size());
  const size_t size = std::min(elements.count * field.size, bytes.size() - begin);
  return {.bytes = bytes.subspan(begin, size)};
}

// 0 beyond the end of the array.
PrintValue element_value(const Field& field, uint64_t index, RecordView record) {
  const Elements elements = elements_of(field, record);
  if (index >= elements.count) return number(0, field.is_signed);
  const uint64_t at = elements.offset + index * field.size;
  return number(integer_at(field, record, at).value_or(0), field.is_signed);
}

uint64_t truncated(uint64_t value, uint64_t size, bool is_signed) {
  if (size >= sizeof(uint64_t)) return value;
  const unsigned shift = 64 - static_cast<unsigned>(size) * 8;
  if (!is_signed) return value << shift >> shift;
  return static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
}

PrintValue cast_value(const PrintNode& node, PrintValue value) {
  if (value.text || value.bytes) return value;
  return number(truncated(value.number, node.number, node.is_signed), node.is_signed);
}

PrintValue unary_value(const std::string& op, const PrintValue& value) {
  if (op == "!") return number(value.number == 0 ? 1 : 0);
  return number(op == "-" ? 0 - value.number : ~value.number, value.is_signed);
}

uint64_t divided(const std::string& op, const PrintValue& a, const PrintValue& b) {
  if (b.number == 0) return 0;
  if (!a.is_signed || !b.is_signed) return op == "/" ? a.number / b.number : a.number % b.number;
  const auto x = static_cast<int64_t>(a.number), y = static_cast<int64_t>(b.number);
  if (y == -1) return op == "/" ? 0 - a.number : 0;
  return static_cast<uint64_t>(op == "/" ? x / y : x % y);
}

bool is_less(const PrintValue& a, const PrintValue& b) {
  if (!a.is_signed || !b.is_signed) return a.number < b.number;
  return static_cast<int64_t>(a.number) < static_cast<int64_t>(b.number);
}

uint64_t shifted(const std::string& op, const PrintValue& a, uint64_t by) {
  if (by >= 64) return 0;
  if (op == "<<") return a.number << by;
  return a.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(a.number) >> by) : a.number >> by;
}

PrintValue binary_value(const std::string& op, const PrintValue& a, const PrintValue& b) {
  const bool is_signed = a.is_signed && b.is_signed;
  if (op == "+") return number(a.number + b.number, is_signed);
  if (op == "-") return number(a.number - b.number, is_signed);
  if (op == "*") return number(a.number * b.number, is_signed);
  if (op == "/" || op == "%") return number(divided(op, a, b), is_signed);
  if (op == "&") return number(a.number & b.number, is_signed);
  if (op == "|") return number(a.number | b.number, is_signed);
  if (op == "^") return number(a.number ^ b.number, is_signed);
  if (op == "<<" || op == ">>") return number(shifted(op, a, b.number), a.is_signed);
  if (op == "==") return number(a.number == b.number ? 1 : 0);
  if (op == "!=") return number(a.number != b.number ? 1 : 0);
  if (op == "<") return number(is_less(a, b) ? 1 : 0);
  if (op == ">") return number(is_less(b, a) ? 1 : 0);
  if (op == "<=") return number(is_less(b, a) ? 0 : 1);
  if (op == ">=") return number(is_less(a, b) ? 0 : 1);
  if (op == "&&") return number(a.number != 0 && b.number != 0 ? 1 : 0);
  return number(a.number != 0 || b.number != 0 ? 1 : 0);
}

// The text that trace_print_flags_seq() of the kernel makes.
std::string flags_text(const PrintNode& node, uint64_t flags) {
  std::string out;
  auto add = [&](std::string_view name) {
    if (!out.empty()) out += node.text;
    out += name;
  };
  for (const auto& [mask, name] : node.table) {
    if (flags == 0) break;
    if ((flags & mask) != mask) continue;
    add(name);
    flags &= ~mask;
  }
  if (flags != 0) add(fmt::format("0x{:x}", flags));
  return out;
}

std::string symbol_text(const PrintNode& node, uint64_t value) {
  for (const auto& [key, name] : node.table)
    if (key == value) return name;
  return fmt::format("0x{:x}", value);
}

std::string hex_text(std::span<const std::byte> bytes, std::string_view between) {
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i)
    out += fmt::format("{}{:02x}", i == 0 ? "" : between, static_cast<unsigned>(bytes[i]));
  return out;
}

std::span<const std::byte> first_bytes(const PrintNode& node, RecordView record, size_t count) {
  const PrintValue value = value_of(node, record);
  if (!value.bytes) return {};
  return value.bytes->first(std::min(count, value.bytes->size()));
}

std::string array_text(const PrintNode& node, RecordView record) {
  const uint64_t size = value_of(node.parts[2], record).number;
  const uint64_t count = value_of(node.parts[1], record).number;
  if (size != 1 && size != 2 && size != 4 && size != 8) return "{}";
  const auto bytes = first_bytes(node.parts[0], record, std::min<uint64_t>(count, 4096) * size);
  std::string out = "{";
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    uint64_t element = 0;
    std::memcpy(&element, bytes.data() + at, size);
    out += fmt::format("{}0x{:x}", at == 0 ? "" : ",", element);
  }
  return out + "}";
}

PrintValue formatted(const PrintNode& node, RecordView record) {
  auto of_part = [&](size_t index) { return value_of(node.parts[index], record); };
  switch (node.kind) {
    case PrintKind::flags:
      return text(flags_text(node, of_part(0).number));
    case PrintKind::symbolic:
      return text(symbol_text(node, of_part(0).number));
    case PrintKind::hex:
      return text(hex_text(first_bytes(node.parts[0], record, of_part(1).number), " "));
    case PrintKind::hex_str:
      return text(hex_text(first_bytes(node.parts[0], record, of_part(1).number), ""));
    case PrintKind::array:
      return text(array_text(node, record));
    default: {
      const Field& field = node.parts.front().field;
      return number(elements_of(field, record).count * field.size);
    }
  }
}

}  // namespace

PrintValue value_of(const PrintNode& node, RecordView record) {
  auto of_part = [&](size_t index) { return value_of(node.parts[index], record); };
  switch (node.kind) {
    case PrintKind::number:
      return number(node.number, node.is_signed);
    case PrintKind::text:
      return text(node.text);
    case PrintKind::field:
      return field_value(node.field, record);
    case PrintKind::element:
      return element_value(node.parts[0].field, of_part(1).number, record);
    case PrintKind::cast:
      return cast_value(node, of_part(0));
    case PrintKind::unary:
      return unary_value(node.text, of_part(0));
    case PrintKind::binary:
      return binary_value(node.text, of_part(0), of_part(1));
    case PrintKind::ternary: {
      const PrintValue condition = of_part(0);
      return of_part(condition.number != 0 || condition.text ? 1 : 2);
    }
    default:
      return formatted(node, record);
  }
}

const Field* PrintExpression::field() const {
  const Node* node = root_.get();
  while (node->kind == PrintKind::cast) node = &node->parts.front();
  return node->kind == PrintKind::field ? &node->field : nullptr;
}

PrintValue PrintExpression::value(RecordView record) const { return value_of(*root_, record); }

}  // namespace ktraced
