// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/event_records.h"

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

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

// The text of such a record; empty if it has none.
std::string_view text_in(RecordView view) {
  if (view.bytes().size() <= sizeof(record)) return {};
  const auto bytes = view.bytes().subspan(sizeof(record));
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return {text, ::strnlen(text, bytes.size())};
}

// The first part of a text that is too long. It ends with a comma where there is one: the addresses
// in a text are replaced in each record on its own.
std::string_view first_part(std::string_view text) {
  const size_t comma = text.substr(0, kTextMax).rfind(',');
  return text.substr(0, comma == std::string_view::npos ? kTextMax : comma + 1);
}

}  // namespace

std::vector<std::byte> event_record(const Event& event, uint64_t ts) {
  return text_record(METADATA_event, ts, fitting_text(event));
}

std::vector<std::byte> config_records(const json& config, uint64_t ts) {
  const std::string whole = dump_json(config);
  if (whole.size() <= kTextMax) return text_record(METADATA_config, ts, whole);
  json bare = config;
  bare.erase("events");
  if (const std::string text = dump_json(bare); text.size() <= kTextMax)
    return text_record(METADATA_config, ts, text);
  std::vector<std::byte> records;
  std::string_view rest = whole;
  const auto append = [&](uint16_t id, std::string_view text) {
    const auto bytes = text_record(id, ts, text);
    records.insert(records.end(), bytes.begin(), bytes.end());
    rest.remove_prefix(text.size());
  };
  while (rest.size() > kTextMax) append(METADATA_config_part, first_part(rest));
  append(METADATA_config, rest);
  return records;
}

std::optional<json> ConfigRecordReader::take(RecordView record) {
  const bool part = record.id() == METADATA_config_part;
  if (!part && record.id() != METADATA_config) return std::nullopt;
  if (record.ts() != ts_) parts_.clear();
  ts_ = record.ts();
  const std::string_view text = text_in(record);
  if (parts_.size() + text.size() > kMaxBytes) {
    parts_.clear();
    return std::nullopt;
  }
  parts_ += text;
  if (part) return std::nullopt;
  json config = json::parse(std::exchange(parts_, {}), nullptr, false);
  if (config.is_discarded()) return std::nullopt;
  return config;
}

const Event* learn_event(Schema& schema, RecordView record) {
  if (record.id() != METADATA_event) return nullptr;
  const json object = json::parse(text_in(record), nullptr, false);
  if (object.is_discarded()) return nullptr;
  auto event = event_from_json(object);
  if (!event || schema.find(event->id) != nullptr) return nullptr;
  const uint16_t id = event->id;
  schema.add(std::move(*event));
  return schema.find(id);
}

}  // namespace ktraced
