// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/event_records.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/text/json_dump.h"
#include "schema/schema_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

constexpr size_t kTextMax = UINT16_MAX - sizeof(record) - sizeof(uint64_t);

std::string text_of(const Event& event) { return dump_json(event_to_json(event)); }

// The parts of the event that fit into a record.
std::string fitting_text(const Event& event) {
  std::string text = text_of(event);
  if (text.size() <= kTextMax) return text;
  Event bare = event;
  bare.print.clear();
  bare.doc.clear();
  for (Field& field : bare.fields) field.doc.clear();
  return text_of(bare);
}

// A metadata record that is a header and a text: an event definition or a trace config.
std::vector<std::byte> text_record(uint16_t id, uint64_t ts, std::string_view text) {
  const size_t size = (sizeof(record) + text.size() + 1 + 7) / 8 * 8;
  const record head{.ts = ts, .id = id, .size = static_cast<u16>(size), .tid = 0};
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), text.data(), text.size());
  return bytes;
}

// A discarded value if the record is of another kind or its text is not JSON.
json json_of(RecordView view, uint16_t id) {
  if (view.id() != id || view.bytes().size() <= sizeof(record)) return json::value_t::discarded;
  const auto bytes = view.bytes().subspan(sizeof(record));
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return json::parse(std::string_view(text, ::strnlen(text, bytes.size())), nullptr, false);
}

}  // namespace

std::vector<std::byte> event_record(const Event& event, uint64_t ts) {
  return text_record(METADATA_event, ts, fitting_text(event));
}

std::vector<std::byte> config_record(const json& config, uint64_t ts) {
  std::string text = dump_json(config);
  if (text.size() > kTextMax) {
    json bare = config;
    bare.erase("events");
    text = dump_json(bare);
  }
  return text_record(METADATA_config, ts, text);
}

std::optional<json> config_of(RecordView record) {
  json config = json_of(record, METADATA_config);
  if (config.is_discarded()) return std::nullopt;
  return config;
}

const Event* learn_event(Schema& schema, RecordView record) {
  const json object = json_of(record, METADATA_event);
  if (object.is_discarded()) return nullptr;
  auto event = event_from_json(object);
  if (!event || schema.find(event->id) != nullptr) return nullptr;
  const uint16_t id = event->id;
  schema.add(std::move(*event));
  return schema.find(id);
}

}  // namespace ktraced
