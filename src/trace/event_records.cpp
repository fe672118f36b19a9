#include "trace/event_records.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "schema/schema_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kTextMax = UINT16_MAX - sizeof(rec_name_event) - sizeof(uint64_t);

std::string text_of(const Event& event) {
  return event_to_json(event).dump(-1, ' ', false, json::error_handler_t::replace);
}

// As much of the event as a record has room for.
std::string fitting_text(const Event& event) {
  std::string text = text_of(event);
  if (text.size() <= kTextMax) return text;
  Event bare = event;
  bare.print.clear();
  bare.doc.clear();
  for (Field& field : bare.fields) field.doc.clear();
  return text_of(bare);
}

std::string_view text_of(RecordView record) {
  const auto bytes = record.bytes().subspan(sizeof(rec_name_event));
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, bytes.size())};
}

}  // namespace

std::vector<std::byte> event_record(const Event& event, uint64_t ts) {
  const std::string text = fitting_text(event);
  const size_t size = (sizeof(rec_name_event) + text.size() + 1 + 7) / 8 * 8;
  rec_name_event head{};
  head.h = {.ts = ts, .id = NAME_event, .size = static_cast<u16>(size), .tid = 0};
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), text.data(), text.size());
  return bytes;
}

const Event* learn_event(Schema& schema, RecordView record) {
  if (record.id() != NAME_event || record.bytes().size() <= sizeof(rec_name_event)) return nullptr;
  const json object = json::parse(text_of(record), nullptr, false);
  if (object.is_discarded()) return nullptr;
  auto event = event_from_json(object);
  if (!event || schema.find(event->id) != nullptr) return nullptr;
  const uint16_t id = event->id;
  schema.add(std::move(*event));
  return schema.find(id);
}

}  // namespace ktraced
