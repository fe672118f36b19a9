// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/tracedat/event_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "analysis/coverage/comm.h"
#include "decoders/ftrace/ftrace_formats.h"
#include "decoders/tracedat/native_bytes.h"
#include "decoders/tracedat/ring_buffer_pages.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {

namespace {

constexpr size_t kCommonBytes = 8;        // type, flags, preemption count, thread
constexpr size_t kLocation = 4;           // of a "__data_loc" field: offset, and bytes << 16
constexpr size_t kTextAt = kCommonBytes;  // location of the text
constexpr std::string_view kTextField = "ktraced_text";

bool is_identifier_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_identifier(std::string_view name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, is_identifier_character);
}

std::string as_identifier(std::string_view name) {
  std::string identifier(name.empty() ? "_" : name);
  for (char& c : identifier)
    if (!is_identifier_character(c)) c = '_';
  return identifier;
}

std::string_view type_of(const Field& field) {
  if (field.meaning == Meaning::text && field.size == 1) return "char";
  if (field.meaning == Meaning::kaddr && field.size == sizeof(void*)) return "void *";
  switch (field.size) {
    case 1:
      return field.is_signed ? "s8" : "u8";
    case 2:
      return field.is_signed ? "s16" : "u16";
    case 4:
      return field.is_signed ? "s32" : "u32";
    case 8:
      return field.is_signed ? "s64" : "u64";
    default:
      return {};
  }
}

uint32_t location(size_t offset, size_t bytes) {
  return static_cast<uint32_t>(offset | bytes << 16);
}

void put_location(std::string& out, size_t at, size_t offset, size_t bytes) {
  const uint32_t word = location(offset, bytes);
  std::memcpy(out.data() + at, &word, sizeof(word));
}

// "prev_comm" of a text that ends with " prev_comm="; empty: there is none.
std::string_view named_at_end(std::string_view literal) {
  if (!literal.ends_with('=')) return {};
  literal.remove_suffix(1);
  size_t begin = literal.size();
  while (begin != 0 && is_identifier_character(literal[begin - 1])) --begin;
  return literal.substr(begin);
}

}  // namespace

EventLayout::EventLayout(const Event& event, uint16_t id) : id_(id) {
  const std::string_view full = event.name;
  const size_t colon = full.find(':');
  name_ = as_identifier(colon == std::string_view::npos ? full : full.substr(colon + 1));
  group_ = as_identifier(event.group);
  find_comms(event);
  for (const Field& field : event.fields) {
    if (field.located) located_.push_back(field);
    if (!field.located && field.count == 0) trailing_.push_back(field);
  }
  format_ = fmt::format("name: {}\nID: {}\nformat:\n", name_, id_);
  add_field("unsigned short common_type", 0, 2, false);
  add_field("unsigned char common_flags", 2, 1, false);
  add_field("unsigned char common_preempt_count", 3, 1, false);
  add_field("int common_pid", 4, 4, true);
  format_ += '\n';
  place_fields(event);
  format_ += fmt::format("\nprint fmt: \"%s\", __get_str({})\n", kTextField);
}

// The kernel's events have the names of threads beside their numbers.
void EventLayout::find_comms(const Event& event) {
  std::string_view before;
  const std::vector<FormatStep> steps = ftrace_format_of(event);
  for (const FormatStep& step : steps) {
    const std::string_view name = named_at_end(before);
    const bool is_taken =
        std::ranges::find(event.fields, name, &Field::name) != event.fields.end() ||
        std::ranges::find(comms_, name, &Comm::name) != comms_.end();
    if (step.kind == FormatStep::Kind::comm && is_identifier(name) && !is_taken)
      comms_.push_back({std::string(name), step.field});
    before = step.kind == FormatStep::Kind::literal ? std::string_view(step.text) : "";
  }
}

void EventLayout::place_fields(const Event& event) {
  size_t at = kTextAt;
  add_field(fmt::format("__data_loc char[] {}", kTextField), at, kLocation, false);
  at += kLocation;
  for (const Field& field : trailing_) {
    if (is_identifier(field.name))
      add_field(fmt::format("__data_loc char[] {}", field.name), at, kLocation, false);
    at += kLocation;
  }
  for (const Comm& comm : comms_) {
    add_field(fmt::format("char {}[{}]", comm.name, int{COMM_LEN}), at, COMM_LEN, false);
    at += COMM_LEN;
  }
  body_ = (at + 7) / 8 * 8;
  for (const Field& field : event.fields)
    if (field.offset >= sizeof(record) && is_identifier(field.name)) add_field(field);
}

void EventLayout::add_field(std::string_view declaration, size_t offset, size_t size,
                            bool is_signed) {
  format_ += fmt::format("\tfield:{};\toffset:{};\tsize:{};\tsigned:{};\n", declaration, offset,
                         size, is_signed ? 1 : 0);
}

void EventLayout::add_field(const Field& field) {
  if (!field.located && field.count == 0) return;
  const std::string_view type = type_of(field);
  if (type.empty()) return;
  const size_t offset = field.offset - sizeof(record) + body_;
  if (field.located)
    return add_field(fmt::format("__data_loc {}[] {}", type, field.name), offset, kLocation,
                     field.is_signed);
  const std::string array = field.count > 1 ? fmt::format("[{}]", field.count) : "";
  add_field(fmt::format("{} {}{}", type, field.name, array), offset,
            size_t{field.size} * field.count, field.is_signed);
}

void EventLayout::append_head(uint32_t cpu, RecordView record, const NameTable& names,
                              std::string& out) const {
  append_native(id_, out);
  append_native(context_flags(record.context()), out);
  append_native(uint8_t{0}, out);  // the preemption count: records do not have it
  append_native(record.tid(), out);
  append_native(uint32_t{0}, out);  // where the text is: not known yet
  for (const Field& field : trailing_) {
    const std::string_view text = text_of(field, record);
    const size_t begin = field.offset - std::min<size_t>(field.offset, sizeof(::record));
    append_native(location(body_ + begin, text.size() + 1), out);
  }
  for (const Comm& comm : comms_) {
    CommScratch scratch;
    const auto tid = static_cast<uint32_t>(integer_of(comm.tid, record).value_or(0));
    std::string name(comm_at(names, tid, record.ts(), cpu, scratch).value_or("<...>"));
    name.resize(COMM_LEN - 1);
    out.append(name.data(), COMM_LEN);
  }
}

void EventLayout::append(uint32_t cpu, RecordView record, std::string_view text,
                         const NameTable& names, std::string& out) const {
  const size_t begin = out.size();
  append_head(cpu, record, names, out);
  out.resize(begin + body_, '\0');
  const auto bytes = record.bytes();
  const auto body = bytes.subspan(std::min(bytes.size(), sizeof(::record)));
  out.append(reinterpret_cast<const char*>(body.data()), body.size());
  for (const Field& field : located_) {
    const size_t at = begin + body_ + field.offset - sizeof(::record);
    if (field.offset < sizeof(::record) || at + kLocation > out.size()) continue;
    const Elements elements = elements_of(field, record);
    const size_t from = std::clamp(elements.offset, sizeof(::record), bytes.size());
    const size_t room = std::min(elements.count * field.size, bytes.size() - from);
    put_location(out, at, from - sizeof(::record) + body_, room);
  }
  const size_t text_at = out.size() - begin;
  const size_t room =
      RingBufferPages::kMaxEvent - std::min(RingBufferPages::kMaxEvent, text_at + 1);
  text = text.substr(0, room);
  out.append(text);
  out += '\0';
  put_location(out, begin + kTextAt, text_at, text.size() + 1);
}

}  // namespace ktraced
