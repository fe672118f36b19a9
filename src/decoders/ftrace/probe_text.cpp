// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/probe_text.h"

#include <algorithm>
#include <string_view>

#include "decoders/text/safe_text.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

// The field with the address of a hit, named by src/kernel/probes/probe_compiler.h as by the
// kernel.
constexpr std::string_view kPlace = "__probe_ip";
constexpr std::string_view kFunction = "__probe_func";
constexpr std::string_view kReturnTo = "__probe_ret_ip";
constexpr size_t kBits = 64;

void append_number(const Field& field, uint64_t value, const ProbeText::AppendSymbol& symbol,
                   TextBuffer& out) {
  if (field.meaning == Meaning::kaddr) return symbol(value, out);
  if (field.meaning == Meaning::hex) {
    out.append("0x");
    return out.append_hex(value);
  }
  if (field.is_signed)
    out.append_decimal(static_cast<int64_t>(value));
  else
    out.append_decimal(value);
}

void append_text(const Field& field, RecordView record, TextBuffer& out) {
  const char quote = field.type == "char" ? '\'' : '"';
  out.append(quote);
  append_printable(text_of(field, record), out);
  out.append(quote);
  if (field.located && elements_of(field, record).cut) out.append("...");
}

void append_value(const Field& field, RecordView record, const ProbeText::AppendSymbol& symbol,
                  TextBuffer& out) {
  if (field.meaning == Meaning::text) return append_text(field, record, out);
  const bool is_array = field.type.ends_with(']');
  if (is_array) out.append('{');
  for (size_t i = 0; i < field.count; ++i) {
    if (i != 0) out.append(',');
    if (auto value = integer_of(field, record, i))
      append_number(field, *value, symbol, out);
    else
      out.append('?');  // the record is shorter than the schema says
  }
  if (is_array) out.append('}');
}

}  // namespace

FailedFields::FailedFields(const Event& event) {
  const auto mask = std::ranges::find(event.fields, Meaning::failed_fields, &Field::meaning);
  if (mask != event.fields.end()) mask_ = *mask;
}

bool FailedFields::contains(size_t field, RecordView record) const {
  if (!mask_ || field >= kBits) return false;
  return (integer_of(*mask_, record).value_or(0) >> field & 1) != 0;
}

std::optional<ProbeText> ProbeText::of(const Event& event) {
  if (event.fields.empty()) return std::nullopt;
  const Field& first = event.fields.front();
  const bool at_return =
      first.name == kFunction && event.fields.size() > 1 && event.fields[1].name == kReturnTo;
  if (first.name != kPlace && !at_return) return std::nullopt;
  ProbeText text(event);
  text.place_ = first;
  if (at_return) text.return_to_ = event.fields[1];
  for (size_t i = at_return ? 2 : 1; i < event.fields.size(); ++i) {
    const Field& field = event.fields[i];
    if (field.meaning != Meaning::failed_fields)
      text.values_.push_back({.field = field, .number = i, .head = " " + field.name + "="});
  }
  return text;
}

uint64_t ProbeText::place(RecordView record) const {
  return integer_of(place_, record).value_or(0);
}

void ProbeText::append_place(RecordView record, const AppendSymbol& append_symbol,
                             TextBuffer& out) const {
  out.append('(');
  if (!return_to_) {
    append_symbol(place(record), out);
    return out.append(')');
  }
  append_symbol(integer_of(*return_to_, record).value_or(0), out);
  out.append(" <- ");
  // The function name without "+0x0/0xe0".
  TextBuffer function;
  append_symbol(place(record), function);
  const std::string_view name = function.view();
  out.append(name.substr(0, name.find("+0x0/")));
  out.append(')');
}

void ProbeText::append(RecordView record, const AppendSymbol& append_symbol,
                       TextBuffer& out) const {
  append_place(record, append_symbol, out);
  append_values(record, append_symbol, out);
}

void ProbeText::append_values(RecordView record, const AppendSymbol& append_symbol,
                              TextBuffer& out) const {
  for (const Value& value : values_) {
    out.append(value.head);
    if (failed_.contains(value.number, record))
      out.append("(fault)");
    else
      append_value(value.field, record, append_symbol, out);
  }
}

}  // namespace ktraced
