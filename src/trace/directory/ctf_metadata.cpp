// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/ctf_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

// Reserved words of TSDL. They get a leading underscore, which readers remove.
constexpr std::array kReserved = {"align", "callsite",  "char",    "clock",    "const",   "double",
                                  "enum",  "env",       "event",   "float",    "int",     "integer",
                                  "long",  "short",     "signed",  "stream",   "string",  "struct",
                                  "trace", "typealias", "typedef", "unsigned", "variant", "void"};

std::string identifier(const std::string& name) {
  const bool reserved = std::ranges::find(kReserved, name) != kReserved.end();
  return reserved || name.starts_with('_') ? "_" + name : name;
}

// Text inside a TSDL string literal.
std::string tsdl_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

bool is_hexadecimal(Meaning meaning) {
  return meaning == Meaning::kaddr || meaning == Meaning::hex || meaning == Meaning::slab_cache ||
         meaning == Meaning::gfp_flags || meaning == Meaning::clone_flags;
}

// Declares the fields of an event in the order of their offsets.
class FieldList {
 public:
  void add(const Field& field) {
    if (field.located)
      add_location(field);
    else
      add_fixed(field);
  }
  // Elements of variable length follow all other fields, one field after the other.
  void add_located(const Field& field) {
    append("    {} {}[{}];\n", integer(field, 8), identifier(field.name), length_of(field));
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  template <class... Args>
  void append(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }

  static std::string integer(const Field& field, uint32_t align) {
    const bool text = field.meaning == Meaning::text;
    return fmt::format("integer {{ size = {}; align = {}; signed = {};{}{} }}", field.size * 8,
                       align, field.is_signed && !text,
                       is_hexadecimal(field.meaning) ? " base = 16;" : "",
                       text ? " encoding = UTF8;" : "");
  }
  // Readers remove the first underscore.
  static std::string length_of(const Field& field) {
    return fmt::format("__{}_length", field.name);
  }

  void add_fixed(const Field& field) {
    const std::string name = identifier(field.name);
    if (field.count == 0) return append("    string {{ encoding = UTF8; }} {};\n", name);
    append("    {} {}", integer(field, align_at(field.offset, field.size)), name);
    if (field.count > 1 || field.meaning == Meaning::text) append("[{}]", field.count);
    out_ += ";\n";
    position_ = field.offset + field.size * field.count;
  }

  // The location word of the elements: LOCATED_OFFSET and so on.
  void add_location(const Field& field) {
    append("    integer {{ size = 15; align = {}; signed = false; }} __{}_offset;\n",
           align_at(field.offset, sizeof(uint32_t)), field.name);
    append("    integer {{ size = 1; align = 1; signed = false; }} {}_cut;\n", field.name);
    append("    integer {{ size = 16; align = 8; signed = false; }} {};\n", length_of(field));
    position_ = field.offset + sizeof(uint32_t);
  }

  // An alignment in bits that takes a reader to `offset`: the natural one if possible. Adds padding
  // if no alignment reaches it.
  uint32_t align_at(uint32_t offset, uint32_t size) {
    for (uint32_t align : {size, 1U, 2U, 4U, 8U})
      if (offset % align == 0 && (position_ + align - 1) / align * align == offset)
        return align * 8;
    if (offset > position_)
      append("    integer {{ size = 8; align = 8; signed = false; }} __padding_{}[{}];\n", offset,
             offset - position_);
    return 8;
  }

  std::string out_;
  uint32_t position_ = sizeof(record);
};

void append_event(std::string& out, const Event& event, bool with_stacks) {
  fmt::format_to(std::back_inserter(out),
                 "event {{\n  id = {};\n  name = {};\n  stream_id = {};\n  fields := struct {{\n",
                 event.id | (with_stacks ? uint32_t{RECORD_HAS_STACKS} : 0),
                 tsdl_string(event.name), static_cast<uint32_t>(StreamId::events));
  FieldList list;
  for (const Field& field : event.fields) list.add(field);
  for (const Field& field : event.fields)
    if (field.located) list.add_located(field);
  out += list.take();
  for (std::string name : {"kernel_stack", "user_stack"}) {
    if (!with_stacks) break;
    while (std::ranges::find(event.fields, name, &Field::name) != event.fields.end()) name += '_';
    out += "    integer { size = 64; align = 64; signed = false; base = 16; } " + name + ";\n";
  }
  out += "  };\n};\n\n";
}

// struct rec_stack.
constexpr std::string_view kStack = R"(event {{
  id = {id};
  name = "stack";
  stream_id = {stream_id};
  fields := struct {{
    integer {{ size = 64; align = 64; signed = false; base = 16; }} number;
    uint16_t __frames_length;
    enum : uint8_t {{ kernel = {kernel}, user = {user}, sampled = {sampled} }} kind;
    enum : uint8_t {{
      start = {start}, depth = {depth}, broken = {broken}, unreadable = {unreadable}
    }} end;
    uint32_t layout;
    integer {{ size = 64; align = 64; signed = false; base = 16; }} frames[__frames_length];
  }};
}};

)";

constexpr std::string_view kStructure = R"(/* CTF 1.8 */

typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 16; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 32; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 64; signed = false; }} := uint64_t;

trace {{
  major = 1;
  minor = 8;
  uuid = "{uuid}";
  byte_order = le;
  packet.header := struct {{
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream_id;
  }};
}};

env {{
  domain = "kernel";
  tracer_name = "ktraced";
  tracer_version = "{version}";
  hostname = {host};
  kernel_release = {kernel};
}};

clock {{
  name = boottime;
  description = "CLOCK_BOOTTIME: time since boot, suspended time included";
  freq = 1000000000;
  offset_s = {offset_s};
  offset = {offset_ns};
}};

typealias integer {{ size = 64; align = 64; signed = false; map = clock.boottime.value; }} := boottime_t;

struct lost {{
  uint64_t count;
  uint32_t event_id;
  uint32_t reserved;
}};

stream {{
  id = {stream_id};
  packet.context := struct {{
    boottime_t timestamp_begin;
    boottime_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint64_t packet_seq_num;
    uint64_t events_discarded;
    uint32_t cpu_id;
    uint32_t lost_count;
    struct lost lost[lost_count];
  }};
  event.header := struct {{
    boottime_t timestamp;
    uint16_t id;
  }} align(64);
  /* A structure begins where its widest alignment allows: this one right behind the id. The record has
     8 * words bytes. */
  event.context := struct {{
    enum : integer {{ size = 3; align = 16; signed = false; }} {{
      unknown, task, softirq, hardirq, hardirq_in_softirq, nmi_in_hardirq, nmi_in_nested_hardirq, nmi
    }} context;
    integer {{ size = 13; align = 1; signed = false; }} words;
    integer {{ size = 32; align = 16; signed = false; }} tid;
  }};
}};

)";

}  // namespace

std::string ctf_metadata(const Schema& schema, const TraceOrigin& origin) {
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t seconds = origin.clock_offset_ns / kSecond;
  if (origin.clock_offset_ns % kSecond < 0) --seconds;
  std::string out =
      fmt::format(kStructure, fmt::arg("uuid", uuid_text(origin.uuid)),
                  fmt::arg("version", KTRACED_VERSION), fmt::arg("host", tsdl_string(origin.host)),
                  fmt::arg("kernel", tsdl_string(origin.kernel)), fmt::arg("offset_s", seconds),
                  fmt::arg("offset_ns", origin.clock_offset_ns - seconds * kSecond),
                  fmt::arg("stream_id", static_cast<uint32_t>(StreamId::events)));
  for (const Event& event : schema.events()) append_event(out, event, false);
  if (!schema.stacks) return out;
  for (const Event& event : schema.events()) append_event(out, event, true);
  for (const Event& record : stack_records())
    if (record.id != RECORD_STACK) append_event(out, record, false);
  fmt::format_to(std::back_inserter(out), kStack, fmt::arg("id", +RECORD_STACK),
                 fmt::arg("stream_id", static_cast<uint32_t>(StreamId::events)),
                 fmt::arg("kernel", +STACK_KERNEL), fmt::arg("user", +STACK_USER),
                 fmt::arg("sampled", +STACK_SAMPLED), fmt::arg("start", +STACK_START),
                 fmt::arg("depth", +STACK_DEPTH), fmt::arg("broken", +STACK_BROKEN),
                 fmt::arg("unreadable", +STACK_UNREADABLE));
  return out;
}

size_t trailing_padding(const Schema& schema, const RecordView& record) {
  if (record.has_stacks() || record.id() == RECORD_STACK) return 0;
  const Event* event = schema.find(record.id());
  if (event == nullptr || event->fields.empty()) return 0;
  const auto located =
      std::ranges::find(event->fields.rbegin(), event->fields.rend(), true, &Field::located);
  const Field& last = located != event->fields.rend() ? *located : event->fields.back();
  const size_t end = end_of(last, record);
  return end < record.bytes().size() ? record.bytes().size() - end : 0;
}

std::string uuid_text(const Uuid& uuid) {
  std::string text;
  for (size_t i = 0; i < uuid.size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '-');
  Uuid uuid{};
  if (digits.size() != uuid.size() * 2) return std::nullopt;
  for (size_t i = 0; i < uuid.size(); ++i) {
    const char* begin = digits.data() + i * 2;
    if (std::from_chars(begin, begin + 2, uuid[i], 16).ptr != begin + 2) return std::nullopt;
  }
  return uuid_text(uuid) == text ? std::optional(uuid) : std::nullopt;
}

}  // namespace ktraced
