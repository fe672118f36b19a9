// SPDX-License-Identifier: BSD-2-Clause
#include "schema/schema_json.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"
#include "bpf/records.h"

namespace ktraced {

namespace {

using nlohmann::json;

// The size field of struct record has 16 bits, and no record is longer.
constexpr uint32_t kRecordMaxBytes = UINT16_MAX;
constexpr size_t kFtraceMaxBytes = 1024;
// Numbers of fields in Perfetto's messages. FtraceEvent has the time and the thread at 1 and 2.
constexpr uint32_t kPerfettoMax = (1U << 29) - 1;
constexpr uint32_t kPerfettoFirstEvent = 3;
constexpr uint32_t kPerfettoReserved = 19000, kPerfettoReservedEnd = 20000;  // by protobuf

std::unexpected<Error> bad(std::string_view where, std::string_view why) {
  return fail(ExitCode::data, "schema: {}: {}", where, why);
}

json field_to_json(const Field& field) {
  json out = {
      {"name", field.name},        {"type", field.type}, {"meaning", name_of(field.meaning)},
      {"offset", field.offset},    {"size", field.size}, {"count", field.count},
      {"signed", field.is_signed}, {"doc", field.doc}};
  if (field.located) out["located"] = true;
  if (field.words) out["words"] = true;
  if (field.perfetto != 0) out["perfetto"] = field.perfetto;
  if (field.perfetto_comm != 0) out["perfetto_comm"] = field.perfetto_comm;
  return out;
}

// The value of `key`, of the type of `fallback`, or `fallback` if it is missing; nothing if it has
// another type or is out of range.
template <class T>
std::optional<T> value_of(const json& object, const char* key, T fallback) {
  auto found = object.find(key);
  if (found == object.end()) return fallback;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) return found->template get<std::string>();
  } else if constexpr (std::is_same_v<T, bool>) {
    if (found->is_boolean()) return found->template get<bool>();
  } else {
    if (found->is_number_integer() && std::in_range<T>(found->template get<int64_t>()))
      return static_cast<T>(found->template get<int64_t>());
  }
  return std::nullopt;
}

// Reads a member into `out`, which stays if it is missing; false for a bad value.
template <class T>
bool read(const json& object, const char* key, T& out) {
  auto value = value_of(object, key, out);
  if (value) out = std::move(*value);
  return value.has_value();
}

// Names become keys, columns and identifiers of other trace formats.
bool is_identifier(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_word_char) && !is_digit_char(name[0]);
}

// "kmalloc", or "GROUP:NAME" of a dynamic event. A kernel module chooses the group.
bool is_event_name(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return is_identifier(name);
  std::string group(name.substr(0, colon));
  std::ranges::replace(group, '-', '_');
  return is_identifier(group) && is_identifier(name.substr(colon + 1));
}

// 0 means none.
bool is_perfetto_number(uint32_t number) {
  return number <= kPerfettoMax && (number < kPerfettoReserved || number >= kPerfettoReservedEnd);
}

// Why the field is invalid; empty if decoders can rely on it.
std::string_view problem(const Field& field, const Event& event, bool is_last) {
  bool is_text = field.meaning == Meaning::text;
  bool is_integer_size = std::has_single_bit(field.size) && field.size <= sizeof(uint64_t);
  if (!is_identifier(field.name)) return "is no identifier";
  if (is_text ? field.size != 1 : !is_integer_size) return "has a size that its type cannot have";
  if (field.words && !is_text) return "is no text, but has words";
  if (field.located && field.count != 0) return "is of fixed length, but located";
  if (field.count == 0 && !field.located && !(is_text && is_last)) return "has no elements";
  if (field.offset < sizeof(record)) return "lies in the record's header";
  if (field.located && field.offset + sizeof(uint32_t) > event.size)
    return "lies beyond its record";
  if (field.offset + uint64_t{field.size} * field.count > event.size)
    return "lies beyond its record";
  if (!is_perfetto_number(field.perfetto) || !is_perfetto_number(field.perfetto_comm))
    return "has a number that Perfetto cannot have";
  return {};
}

// Nothing for a field that only a later version can read: one with an unknown meaning and no
// elements.
Result<std::optional<Field>> field_from_json(const json& object, std::string_view event) {
  if (!object.is_object()) return bad(event, "a field is no object");
  Field field;
  std::string meaning = "number";
  if (!read(object, "name", field.name) || !read(object, "type", field.type) ||
      !read(object, "meaning", meaning) || !read(object, "offset", field.offset) ||
      !read(object, "size", field.size) || !read(object, "count", field.count) ||
      !read(object, "signed", field.is_signed) || !read(object, "doc", field.doc) ||
      !read(object, "located", field.located) || !read(object, "words", field.words) ||
      !read(object, "perfetto", field.perfetto) ||
      !read(object, "perfetto_comm", field.perfetto_comm))
    return bad(event, fmt::format("field '{}' has a value of a wrong type", field.name));
  field.type = printable(field.type);
  field.doc = printable(field.doc);
  auto known = meaning_named(meaning);
  if (!known && field.count == 0) return std::nullopt;
  field.meaning = known.value_or(Meaning::number);
  return field;
}

Result<> add_fields(const json& list, Event& event) {
  if (!list.is_array()) return bad(event.name, "'fields' is no list");
  std::unordered_set<std::string> names;
  std::unordered_set<uint32_t> members;  // of the Perfetto message
  for (const json& object : list) {
    auto field = field_from_json(object, event.name);
    if (!field) return propagate(field);
    if (!*field) continue;
    const std::string& name = (*field)->name;
    auto why = problem(**field, event, &object == &list.back());
    if (!why.empty()) return bad(event.name, fmt::format("field '{}' {}", name, why));
    if (!names.insert(name).second)
      return bad(event.name, fmt::format("field '{}' is defined twice", name));
    for (uint32_t number : {(*field)->perfetto, (*field)->perfetto_comm})
      if (number != 0 && !members.insert(number).second)
        return bad(event.name, fmt::format("field '{}' has a number of Perfetto that another has "
                                           "too",
                                           name));
    event.fields.push_back(std::move(**field));
  }
  return {};
}

// How the event is shown and matched. Traces of earlier versions lack these keys, and a later
// version may know more forms of text and values of matched_by.
Result<> add_presentation(const json& object, Event& event) {
  std::string matched_by;
  if (!read(object, "group", event.group) || !read(object, "doc", event.doc) ||
      !read(object, "print", event.print) || !read(object, "ftrace", event.ftrace) ||
      !read(object, "matched_by", matched_by))
    return bad(event.name, "'group', 'doc', 'print', 'ftrace' and 'matched_by' must be texts");
  // These texts are printed with the event and may come from an untrusted source.
  for (std::string* text : {&event.group, &event.doc, &event.print}) *text = printable_lines(*text);
  event.ftrace = printable(event.ftrace);
  event.matched_by = matched_by_named(matched_by);
  if (event.ftrace.size() > kFtraceMaxBytes)
    return bad(event.name, fmt::format("'ftrace' is longer than {} bytes", kFtraceMaxBytes));
  if (!read(object, "perfetto", event.perfetto) || !is_perfetto_number(event.perfetto) ||
      (event.perfetto != 0 && event.perfetto < kPerfettoFirstEvent))
    return bad(event.name, "'perfetto' must be a number that an event can have in FtraceEvent");
  if (!read(object, "perfetto_mark", event.perfetto_mark))
    return bad(event.name, "'perfetto_mark' must be true or false");
  return {};
}

Result<FlagName> flag_from_json(const json& object) {
  std::string mask;
  FlagName flag;
  if (!object.is_object() || !read(object, "name", flag.name) || !read(object, "mask", mask))
    return bad("gfp_flags", "an entry is no {mask, name}");
  flag.name = printable(flag.name);
  std::string_view digits = mask;
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  auto [end, error] = std::from_chars(digits.begin(), digits.end(), flag.mask, 16);
  if (error != std::errc{} || end != digits.end() || flag.name.empty())
    return bad("gfp_flags", fmt::format("'{}' = '{}' is no named mask", flag.name, mask));
  return flag;
}

Result<> add_events(const json& list, Schema& schema) {
  for (const json& object : list) {
    auto event = event_from_json(object);
    if (!event) return propagate(event);
    const bool taken = schema.find(event->id) != nullptr ||
                       (!is_dynamic(*event) && schema.find(event->name) != nullptr);
    if (taken)
      return bad(event->name, fmt::format("its name or id {} is another event's too", event->id));
    schema.add(std::move(*event));
  }
  return {};
}

Result<> add_flags(const json& list, std::vector<FlagName>& flags) {
  for (const json& object : list) {
    auto flag = flag_from_json(object);
    if (!flag) return propagate(flag);
    flags.push_back(std::move(*flag));
  }
  return {};
}

}  // namespace

json event_to_json(const Event& event) {
  json fields = json::array();
  for (const Field& field : event.fields) fields.push_back(field_to_json(field));
  json out = {{"id", event.id},   {"name", event.name}, {"group", event.group},
              {"doc", event.doc}, {"size", event.size}, {"fields", std::move(fields)}};
  if (!event.print.empty()) out["print"] = event.print;
  if (!event.ftrace.empty()) out["ftrace"] = event.ftrace;
  if (event.perfetto != 0) out["perfetto"] = event.perfetto;
  if (event.perfetto_mark) out["perfetto_mark"] = true;
  if (event.matched_by != MatchedBy::unknown) out["matched_by"] = name_of(event.matched_by);
  return out;
}

Result<Event> event_from_json(const json& object) {
  if (!object.is_object()) return bad("events", "an entry is no object");
  Event event;
  if (!read(object, "name", event.name) || !is_event_name(event.name))
    return bad("events", fmt::format("the name '{}' is no identifier", event.name));
  if (!read(object, "id", event.id) || event.id == 0 || event.id >= EVENT_ID_MAX)
    return bad(event.name, fmt::format("'id' must be 1 to {}", EVENT_ID_MAX - 1));
  if (!read(object, "size", event.size) || event.size < sizeof(record) ||
      event.size > kRecordMaxBytes)
    return bad(event.name,
               fmt::format("'size' must be {} to {} bytes", sizeof(record), kRecordMaxBytes));
  if (auto added = add_presentation(object, event); !added) return propagate(added);
  if (auto fields = object.find("fields"); fields != object.end())
    if (auto added = add_fields(*fields, event); !added) return propagate(added);
  return event;
}

json schema_to_json(const Schema& schema) {
  json events = json::array(), flags = json::array();
  for (const Event& event : schema.events()) events.push_back(event_to_json(event));
  for (const FlagName& flag : schema.gfp_flags)
    flags.push_back({{"mask", fmt::format("{:#x}", flag.mask)}, {"name", flag.name}});
  return {{"events", std::move(events)},
          {"gfp_flags", std::move(flags)},
          {"contexts", schema.contexts},
          {"stacks", schema.stacks}};
}

Result<Schema> schema_from_json(const json& document) {
  if (!document.is_object() || !document.contains("events") || !document["events"].is_array())
    return bad("top level", "it has no list 'events'");
  Schema schema;
  if (!read(document, "contexts", schema.contexts))
    return bad("contexts", "it is neither true nor false");
  if (!read(document, "stacks", schema.stacks))
    return bad("stacks", "it is neither true nor false");
  if (auto added = add_events(document["events"], schema); !added) return propagate(added);
  auto flags = document.find("gfp_flags");
  if (flags == document.end()) return schema;
  if (!flags->is_array()) return bad("gfp_flags", "it is no list");
  if (auto added = add_flags(*flags, schema.gfp_flags); !added) return propagate(added);
  return schema;
}

}  // namespace ktraced
