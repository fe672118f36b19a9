// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/tracepoint_format.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "base/text/c_text.h"
#include "kernel/tracepoints/print_text.h"

namespace ktraced {
namespace {

// Difference between an offset in the kernel's record and in ours.
constexpr uint32_t kShift = sizeof(record) - TRACEPOINT_COMMON;
constexpr std::string_view kCommonPrefix = "common_";
constexpr std::string_view kDataLoc = "__data_loc ";
constexpr std::string_view kRelLoc = "__rel_loc ";
// The records that programs get of these tracepoints end before the fields of variable length,
// which some kernels have for the string arguments of calls.
constexpr std::string_view kSyscalls = "syscalls";

// "field:int irq;	offset:8;	size:4;	signed:1;"
struct FieldLine {
  std::string_view declaration;
  uint32_t offset = 0;
  uint32_t size = 0;
  bool is_signed = false;
};

// The text after `key`, up to the next ';'.
std::optional<std::string_view> part_of(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  const size_t end = line.find(';');
  if (end == std::string_view::npos) return std::nullopt;
  return trimmed(line.substr(0, end));
}

std::optional<uint64_t> number_in(std::optional<std::string_view> text) {
  uint64_t value = 0;
  if (!text || text->empty()) return std::nullopt;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::optional<FieldLine> parse_line(std::string_view line) {
  auto declaration = part_of(line, "field:");
  auto offset = number_in(part_of(line, "\toffset:"));
  auto size = number_in(part_of(line, "\tsize:"));
  auto is_signed = number_in(part_of(line, "\tsigned:"));
  if (!declaration || !offset || !size || !is_signed || *offset > UINT16_MAX || *size > UINT16_MAX)
    return std::nullopt;
  return FieldLine{.declaration = *declaration,
                   .offset = static_cast<uint32_t>(*offset),
                   .size = static_cast<uint32_t>(*size),
                   .is_signed = *is_signed != 0};
}

// The parts of a C declaration: "char comm[16]" is type "char", name "comm", an array.
struct Declaration {
  std::string type;
  std::string name;
  bool is_array = false;
  bool is_pointer = false;
  bool located = false;
  bool relative = false;  // __rel_loc
};

// "unsigned int", "const  char *" and "struct foo" with one space between words.
std::string tidy_type(std::string_view type) {
  std::string out;
  for (char c : trimmed(type))
    if (c != ' ' || !out.ends_with(' ')) out += c;
  return out;
}

// The name is the last word before any brackets; "__data_loc char[] name" has the brackets before
// the name.
std::optional<Declaration> parse_declaration(std::string_view text) {
  Declaration found;
  for (std::string_view prefix : {kDataLoc, kRelLoc})
    if (text.starts_with(prefix)) {
      found.located = true;
      found.relative = prefix == kRelLoc;
      text.remove_prefix(prefix.size());
    }
  text = trimmed(text);
  if (text.ends_with(']')) {
    found.is_array = true;
    text = trimmed(text.substr(0, text.find('[')));
  }
  size_t begin = text.size();
  while (begin > 0 && is_word_char(text[begin - 1])) --begin;
  found.name = text.substr(begin);
  std::string_view type = trimmed(text.substr(0, begin));
  if (type.ends_with(']')) {
    found.is_array = true;
    type = type.substr(0, type.find('['));
  }
  found.type = tidy_type(type);
  found.is_pointer = found.type.ends_with('*');
  if (found.name.empty() || found.type.empty()) return std::nullopt;
  return found;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// Bytes of one element of an array, from its type; 0 if unknown.
uint32_t element_size(std::string_view type) {
  for (std::string_view prefix : {"const ", "volatile ", "enum "})
    if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  if (type.ends_with('*')) return 8;
  if (is_one_of(type, {"char", "signed char", "unsigned char", "u8", "__u8", "s8", "__s8",
                       "uint8_t", "int8_t", "bool"}))
    return 1;
  if (is_one_of(type, {"short", "unsigned short", "short int", "u16", "__u16", "s16", "__s16",
                       "uint16_t", "int16_t", "__le16", "__be16"}))
    return 2;
  if (is_one_of(type, {"int", "unsigned", "unsigned int", "u32", "__u32", "s32", "__s32",
                       "uint32_t", "int32_t", "__le32", "__be32", "pid_t", "gfp_t"}))
    return 4;
  if (is_one_of(type, {"long", "unsigned long", "long long", "unsigned long long", "long int",
                       "u64", "__u64", "s64", "__s64", "uint64_t", "int64_t", "__le64", "__be64",
                       "size_t", "loff_t"}))
    return 8;
  return 0;
}

bool is_text_type(std::string_view type) { return is_one_of(type, {"char", "const char"}); }

Meaning meaning_of(const Declaration& declaration) {
  if (declaration.is_pointer) return Meaning::hex;
  if (declaration.is_array && is_text_type(declaration.type)) return Meaning::text;
  if (declaration.type == "bool" && !declaration.is_array) return Meaning::boolean;
  return Meaning::number;
}

// A field of fixed length. Anything but an integer or an array of integers is shown as bytes.
Field fixed_field(const Declaration& declaration, const FieldLine& line) {
  Field field{.name = declaration.name,
              .type = declaration.type,
              .meaning = meaning_of(declaration),
              .offset = line.offset + kShift,
              .size = line.size,
              .count = 1,
              .is_signed = line.is_signed};
  if (declaration.is_array) {
    const uint32_t known = element_size(declaration.type);
    field.size = known != 0 && line.size % known == 0 ? known : 1;
  } else if (!std::has_single_bit(line.size) || line.size > sizeof(uint64_t)) {
    field.size = 1;
    field.is_signed = false;
  }
  field.count = line.size / field.size;
  if (declaration.is_array) field.type += fmt::format("[{}]", field.count);
  if (field.meaning == Meaning::text) field.is_signed = false;
  return field;
}

Field located_field(const Declaration& declaration, const FieldLine& line) {
  const uint32_t known = element_size(declaration.type);
  return {.name = declaration.name,
          .type = declaration.type + "[]",
          .meaning = meaning_of(declaration),
          .offset = line.offset + kShift,
          .size = known != 0 ? known : 1,
          .count = 0,
          .is_signed = line.is_signed && !is_text_type(declaration.type),
          .located = true};
}

std::unexpected<Error> bad(std::string_view system, std::string_view name, std::string_view why) {
  return fail(ExitCode::unavailable, "tracepoint {}:{} cannot be recorded: {}", system, name, why);
}

// Adds the field that a line describes; returns the reason if that is not possible.
std::string_view add_field(std::string_view line, std::string_view system,
                           TracepointFormat& format) {
  auto parsed = parse_line(line);
  if (!parsed) return "a line of its format file is not understood";
  auto declaration = parse_declaration(parsed->declaration);
  if (!declaration) return "a field of its format file has no name";
  if (parsed->offset < TRACEPOINT_COMMON)
    return declaration->name.starts_with(kCommonPrefix) ? "" : "a field lies among the common ones";
  if (declaration->located && system == kSyscalls) return {};
  const uint32_t end = parsed->offset + parsed->size - TRACEPOINT_COMMON;
  if (end > TRACEPOINT_FIXED_MAX) return "its record is too long";
  auto& layout = format.layout;
  layout.fixed = std::max(layout.fixed, static_cast<u16>(end));
  if (!declaration->located) {
    if (parsed->size != 0) format.event.fields.push_back(fixed_field(*declaration, *parsed));
    return {};
  }
  if (parsed->size != sizeof(uint32_t)) return "a field of variable length is in an unknown form";
  if (layout.located == LOCATED_MAX) return "it has too many fields of variable length";
  const Field field = located_field(*declaration, *parsed);
  auto& entry = layout.field[layout.located++];
  entry.at = static_cast<u16>(parsed->offset);
  entry.relative = declaration->relative ? 1 : 0;
  entry.size_log2 = static_cast<u8>(std::countr_zero(field.size));
  format.event.fields.push_back(field);
  return {};
}

// Fields that the kernel prints as symbols are shown as symbols in every output format and stored
// with traces.
void mark_symbols(Event& event) {
  for (const std::string& name : fields_printed_as_symbols(event.print))
    for (Field& field : event.fields)
      if (field.name == name && field.size == sizeof(uint64_t) && field.count == 1)
        field.meaning = Meaning::kaddr;
}

}  // namespace

Result<TracepointFormat> parse_tracepoint_format(std::string_view system, std::string_view text) {
  constexpr std::string_view kPrint = "print fmt: ";
  TracepointFormat format;
  std::string name;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(kPrint)) {
      format.event.print = trimmed(text.substr(kPrint.size()));
      break;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with("name: ")) name = trimmed(line.substr(6));
    if (line.starts_with("ID: ")) format.kernel_id = number_in(trimmed(line.substr(4))).value_or(0);
    if (!line.starts_with("\tfield:")) continue;
    if (auto why = add_field(line, system, format); !why.empty()) return bad(system, name, why);
  }
  if (name.empty() || format.kernel_id == 0)
    return bad(system, name, "its format file has no name or no ID");
  Event& event = format.event;
  mark_symbols(event);
  event.name = fmt::format("{}:{}", system, name);
  event.group = system;
  event.size = sizeof(record) + format.layout.fixed;
  if (format.layout.located == 0) event.size = (event.size + 7) / 8 * 8;
  return format;
}

}  // namespace ktraced
