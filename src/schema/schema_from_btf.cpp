// SPDX-License-Identifier: BSD-2-Clause
#include "schema/schema_from_btf.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ktraced {

namespace {

using TypeId = uint32_t;

constexpr std::string_view kEventPrefix = "EVENT_";
constexpr std::string_view kRecordPrefix = "rec_";
constexpr std::string_view kHeaderType = "record";
constexpr std::string_view kLocatedTextType = "located_text_t";
constexpr std::string_view kLocatedWordsType = "located_words_t";
constexpr std::string_view kGroupTag = "group:";
constexpr std::string_view kDocTag = "doc:";
constexpr std::string_view kFtraceTag = "ftrace:";
constexpr std::string_view kPerfettoTag = "perfetto:";
constexpr std::string_view kPerfettoCommTag = "perfetto_comm:";
constexpr std::string_view kPerfettoMarkTag = "perfetto_mark:";
constexpr std::string_view kMatchedByTag = "matched_by:";
constexpr std::string_view kRecordVariablePrefix = "record_of_";  // DECLARE_EVENT() in bpf/emit.h
constexpr int kWholeType = -1;  // component index of a tag on the struct itself
constexpr uint32_t kBitsPerByte = 8;
constexpr int kChainMax = 64;  // qualifiers, typedefs or dimensions of one type

// Tags of all types, read in one pass: (type, member index or kWholeType) → tags.
using Tags = std::multimap<std::pair<TypeId, int>, std::string_view>;

std::string_view name_at(const btf* btf, uint32_t offset) {
  const char* name = btf__name_by_offset(btf, offset);
  return name == nullptr ? "" : name;
}

std::string_view name_of_type(const btf* btf, const btf_type* type) {
  return name_at(btf, type->name_off);
}

Tags read_tags(const btf* btf) {
  Tags tags;
  for (TypeId id = 1; id < btf__type_cnt(btf); id++) {
    const btf_type* type = btf__type_by_id(btf, id);
    if (btf_is_decl_tag(type))
      tags.emplace(std::pair(type->type, btf_decl_tag(type)->component_idx),
                   name_of_type(btf, type));
  }
  return tags;
}

// The rest of the tag that begins with `prefix`; empty if there is none.
std::string tag_value(const Tags& tags, TypeId type, int component, std::string_view prefix) {
  auto [begin, end] = tags.equal_range({type, component});
  for (auto tag = begin; tag != end; ++tag)
    if (tag->second.starts_with(prefix)) return std::string(tag->second.substr(prefix.size()));
  return {};
}

// tag_value() as a number; 0 if there is none, or if it is no number.
uint32_t tag_number(const Tags& tags, TypeId type, int component, std::string_view prefix) {
  const std::string value = tag_value(tags, type, component, prefix);
  uint32_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc{} && end == value.data() + value.size() ? number : 0;
}

// `id` without const, volatile, restrict and type tags.
const btf_type* skip_modifiers(const btf* btf, TypeId id) {
  const btf_type* type = btf__type_by_id(btf, id);
  for (int i = 0; i < kChainMax; i++) {
    if (type == nullptr || !(btf_is_mod(type) || btf_is_type_tag(type))) return type;
    type = btf__type_by_id(btf, type->type);
  }
  return nullptr;  // they refer to each other
}

// Strips the array dimensions from `*type` and returns their product; 1 for no array.
uint32_t take_dimensions(const btf* btf, const btf_type** type, std::string* suffix) {
  uint32_t count = 1;
  for (int i = 0; i < kChainMax && *type != nullptr && btf_is_array(*type); i++) {
    const struct btf_array* array = ::btf_array(*type);
    count *= array->nelems;
    *suffix += array->nelems == 0 ? "[]" : fmt::format("[{}]", array->nelems);
    *type = skip_modifiers(btf, array->type);
  }
  return count;
}

// Fills in the properties of one element: its typedef gives the meaning, the underlying type size
// and sign. False if it is not an integer.
bool describe_element(const btf* btf, const btf_type* type, Field* field) {
  if (type != nullptr && btf_is_typedef(type)) {
    const std::string_view name = name_of_type(btf, type);
    field->words = name == kLocatedWordsType;
    field->located = field->words || name == kLocatedTextType;
  }
  if (field->located) {
    field->meaning = Meaning::text;
    field->size = 1;
    return true;
  }
  if (type != nullptr && btf_is_typedef(type)) {
    field->meaning = meaning_of_typedef(name_of_type(btf, type)).value_or(Meaning::number);
    for (int i = 0; i < kChainMax && type != nullptr && btf_is_typedef(type); i++)
      type = skip_modifiers(btf, type->type);
  } else if (type != nullptr && btf_is_int(type) && name_of_type(btf, type) == "char") {
    field->meaning = Meaning::text;
  }
  if (type == nullptr) return false;
  if (btf_is_int(type))
    field->is_signed = (btf_int_encoding(type) & BTF_INT_SIGNED) != 0;
  else if (!btf_is_any_enum(type))
    return false;
  field->size = type->size;
  return true;
}

std::unexpected<Error> broken(std::string_view record, std::string_view field,
                              std::string_view why) {
  return fail(ExitCode::software, "the BPF object's struct rec_{} breaks a rule: '{}' {}", record,
              field, why);
}

struct RecordType {
  std::string_view name;  // of the event
  TypeId id = 0;
  const btf_type* type = nullptr;
};

Result<Field> read_field(const btf* btf, const Tags& tags, const RecordType& record, int index) {
  const btf_member& member = btf_members(record.type)[index];
  Field field;
  field.name = name_at(btf, member.name_off);
  if (btf_member_bitfield_size(record.type, index) != 0)
    return broken(record.name, field.name, "is a bit field");
  field.offset = btf_member_bit_offset(record.type, index) / kBitsPerByte;
  field.doc = tag_value(tags, record.id, index, kDocTag);
  field.perfetto = tag_number(tags, record.id, index, kPerfettoTag);
  field.perfetto_comm = tag_number(tags, record.id, index, kPerfettoCommTag);

  const btf_type* type = skip_modifiers(btf, member.type);
  std::string dimensions;
  field.count = take_dimensions(btf, &type, &dimensions);
  if (!describe_element(btf, type, &field))
    return broken(record.name, field.name, "is no integer, text or array of these");
  if (field.located) {
    field.type = "char[]";
    field.count = 0;
    return field;
  }
  field.type = std::string(name_of_type(btf, type)) + dimensions;

  bool is_last = index == btf_vlen(record.type) - 1;
  if (field.count == 0 && (field.meaning != Meaning::text || !is_last))
    return broken(record.name, field.name, "has no length, and only a trailing char[] may");
  return field;
}

// Is the first member the header that every record begins with?
bool begins_with_header(const btf* btf, const btf_type* record) {
  if (btf_vlen(record) == 0 || btf_member_bit_offset(record, 0) != 0) return false;
  const btf_type* first = skip_modifiers(btf, btf_members(record)[0].type);
  return first != nullptr && btf_is_struct(first) && name_of_type(btf, first) == kHeaderType;
}

// The tags of the struct, and of the variable that its program declares.
void add_tags(const btf* btf, const Tags& tags, TypeId record, Event* event) {
  event->group = tag_value(tags, record, kWholeType, kGroupTag);
  event->doc = tag_value(tags, record, kWholeType, kDocTag);
  event->ftrace = tag_value(tags, record, kWholeType, kFtraceTag);
  event->perfetto = tag_number(tags, record, kWholeType, kPerfettoTag);
  event->perfetto_mark = tag_number(tags, record, kWholeType, kPerfettoMarkTag) != 0;
  const std::string variable = std::string(kRecordVariablePrefix) + event->name;
  if (int id = btf__find_by_name_kind(btf, variable.c_str(), BTF_KIND_VAR); id > 0)
    event->matched_by =
        matched_by_named(tag_value(tags, static_cast<TypeId>(id), kWholeType, kMatchedByTag));
}

Result<Event> read_event(const btf* btf, const Tags& tags, uint16_t id, std::string_view name) {
  std::string struct_name = std::string(kRecordPrefix) + std::string(name);
  int type_id = btf__find_by_name_kind(btf, struct_name.c_str(), BTF_KIND_STRUCT);
  if (type_id < 0)
    return fail(ExitCode::software, "the BPF object has event '{}' but no struct {} in its BTF",
                name, struct_name);
  RecordType record{name, static_cast<TypeId>(type_id),
                    btf__type_by_id(btf, static_cast<TypeId>(type_id))};
  if (!begins_with_header(btf, record.type))
    return broken(name, "h", "(struct record) does not come first");

  Event event;
  event.id = id;
  event.name = name;
  add_tags(btf, tags, record.id, &event);
  event.size = record.type->size;
  for (int i = 1; i < btf_vlen(record.type); i++) {
    auto field = read_field(btf, tags, record, i);
    if (!field) return propagate(field);
    event.fields.push_back(std::move(*field));
  }
  return event;
}

// Ids and names of the events, by id.
Result<std::map<uint16_t, std::string_view>> read_event_ids(const btf* btf) {
  int type_id = btf__find_by_name_kind(btf, "event_id", BTF_KIND_ENUM);
  if (type_id < 0)
    return fail(ExitCode::software, "the BPF object has no enum event_id in its BTF");
  const btf_type* type = btf__type_by_id(btf, static_cast<TypeId>(type_id));
  std::map<uint16_t, std::string_view> ids;
  for (int i = 0; i < btf_vlen(type); i++) {
    const struct btf_enum& value = ::btf_enum(type)[i];
    std::string_view name = name_at(btf, value.name_off);
    if (!name.starts_with(kEventPrefix) || !std::in_range<uint16_t>(value.val))
      return fail(ExitCode::software, "enum event_id of the BPF object: '{}' = {} is no event",
                  name, value.val);
    name.remove_prefix(kEventPrefix.size());
    auto [other, is_new] = ids.try_emplace(static_cast<uint16_t>(value.val), name);
    if (!is_new)
      return fail(ExitCode::software, "enum event_id of the BPF object: {} and {} are both {}",
                  other->second, name, value.val);
  }
  return ids;
}

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};

}  // namespace

Result<Schema> schema_from_btf(const btf* btf) {
  auto ids = read_event_ids(btf);
  if (!ids) return propagate(ids);
  Tags tags = read_tags(btf);
  Schema schema;
  for (const auto& [id, name] : *ids) {
    auto event = read_event(btf, tags, id, name);
    if (!event) return propagate(event);
    schema.add(std::move(*event));
  }
  return schema;
}

Result<Schema> schema_from_object(std::span<const std::byte> elf) {
  std::unique_ptr<bpf_object, CloseObject> object(
      bpf_object__open_mem(elf.data(), elf.size(), nullptr));
  if (!object)
    return fail(ExitCode::software, "cannot parse the BPF object: {}", errno_text(errno));
  const btf* btf = bpf_object__btf(object.get());
  if (btf == nullptr)
    return fail(ExitCode::software, "the BPF object has no BTF: it must be compiled with -g");
  return schema_from_btf(btf);
}

}  // namespace ktraced
