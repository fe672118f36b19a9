// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/address_mask.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text/json_dump.h"
#include "daemon/access/address_text.h"
#include "trace/metadata/event_records.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

// Addresses that the kernel itself puts into a dynamic event: where a probe is hit, and what a
// tracepoint declares as a pointer and prints as a symbol. An integer that is printed as a symbol
// may be from a process: the address of a page fault.
bool is_from_kernel(const Field& field) {
  return field.meaning == Meaning::kaddr && field.size == kWord &&
         (field.name.starts_with("__probe_") || field.type.ends_with('*'));
}

bool is_address_of_built_in(const Field& field) {
  return field.size == kWord &&
         (field.meaning == Meaning::kaddr || field.meaning == Meaning::slab_cache);
}

std::span<char> as_text(std::span<std::byte> bytes) {
  return {reinterpret_cast<char*>(bytes.data()), bytes.size()};
}

// Calls `visit` with each record, which it may change.
void for_each_record(std::span<std::byte> records, auto&& visit) {
  for (size_t at = 0; at + sizeof(record) <= records.size();) {
    const size_t size = RecordView(records.data() + at).bytes().size();
    if (size < sizeof(record) || size > records.size() - at) return;
    visit(records.subspan(at, size));
    at += size;
  }
}

// Where the bytes of a field are in a record, cut to its size.
std::span<std::byte> bytes_of_field(const Field& field, std::span<std::byte> record) {
  const Elements elements = elements_of(field, RecordView(record.data()));
  const size_t begin = std::min(elements.offset, record.size());
  return record.subspan(begin, std::min(elements.count * field.size, record.size() - begin));
}

// Where the last field ends. Data of variable length counts if it is within the record.
size_t end_of_fields(const Event& event, std::span<const std::byte> record) {
  const RecordView view(record.data());
  size_t end = sizeof(struct record);
  for (const Field& field : event.fields) {
    if (field.located) end = std::max<size_t>(end, field.offset + sizeof(uint32_t));
    if (const size_t its = end_of(field, view); its <= record.size()) end = std::max(end, its);
  }
  return std::min(end, record.size());
}

// What is behind the end of a text may have been used before; but behind a trailing text there may
// be data of other fields.
void mask_text(const Field& field, std::span<std::byte> bytes) {
  const auto text = as_text(bytes);
  const auto end = std::ranges::find(text, '\0');
  if (field.located || field.count != 0) std::fill(end, text.end(), '\0');
  blank_addresses({text.begin(), end});
}

}  // namespace

AddressMask::AddressMask(const AddressPseudonyms& pseudonyms, const Schema& schema,
                         HiddenAddresses hidden)
    : pseudonyms_(pseudonyms), hidden_(hidden), user_addresses_(pseudonyms), plans_(EVENT_ID_MAX) {
  for (const Event& event : schema.events()) {
    schema_.add(event);
    learn(event);
  }
}

std::vector<AddressMask::Hole> AddressMask::holes_of(const Event& event) {
  std::vector<Field> fields = event.fields;
  std::ranges::sort(fields, {}, &Field::offset);
  std::vector<Hole> holes;
  uint32_t end = sizeof(record);
  for (const Field& field : fields) {
    if (field.offset > end) holes.push_back({end, field.offset});
    const uint32_t bytes = field.located ? uint32_t{sizeof(uint32_t)} : field.count * field.size;
    end = std::max(end, field.offset + bytes);
  }
  return holes;
}

void AddressMask::learn(const Event& event) {
  if (event.id >= plans_.size()) return;
  Plan plan{.parts = {}, .holes = holes_of(event)};
  for (const Field& field : event.fields) {
    if (!is_dynamic(event)) {
      if (is_address_of_built_in(field)) plan.parts.push_back({Kind::trusted, field});
    } else if (is_from_kernel(field)) {
      plan.parts.push_back({Kind::trusted, field});
    } else if (field.meaning == Meaning::text) {
      plan.parts.push_back({Kind::text, field});
    } else if (field.size == kWord && field.meaning != Meaning::failed_fields) {
      plan.parts.push_back({Kind::opaque, field});
    } else if (field.size == 1 && (field.located || field.count >= kWord)) {
      plan.parts.push_back({Kind::bytes, field});
    }
  }
  plans_[event.id] = std::move(plan);
}

uint64_t AddressMask::hide(uint64_t value) {
  if (!is_kernel_address(value)) return value;
  Recent& recent = recent_[(value >> 3 ^ value >> 15) % recent_.size()];
  if (recent.value != value) recent = {.value = value, .pseudonym = pseudonyms_.hide(value)};
  return recent.pseudonym;
}

// Without a place: a trusted value.
void AddressMask::mask_word(std::span<std::byte> record, size_t at, std::optional<uint32_t> place) {
  if (at + kWord > record.size()) return;
  uint64_t value = 0;
  std::memcpy(&value, record.data() + at, kWord);
  value = place ? pseudonyms_.hide_opaque(value, *place) : hide(value);
  std::memcpy(record.data() + at, &value, kWord);
}

void AddressMask::mask_part(const Part& part, uint16_t event, std::span<std::byte> record) {
  constexpr uint32_t kIdShift = 16;  // offsets are below RECORD_MAX
  const auto bytes = bytes_of_field(part.field, record);
  std::optional<uint32_t> place;
  if (part.kind != Kind::trusted) place = uint32_t{event} << kIdShift | part.field.offset;
  for (size_t at = 0; at + kWord <= bytes.size(); at += kWord) mask_word(bytes, at, place);
  if (part.kind == Kind::text) mask_text(part.field, bytes);
}

void AddressMask::mask_number(std::span<std::byte> record, size_t at) const {
  if (at + kWord > record.size()) return;
  uint64_t number = 0;
  std::memcpy(&number, record.data() + at, kWord);
  number = pseudonyms_.hide_number(number);
  std::memcpy(record.data() + at, &number, kWord);
}

void AddressMask::mask_stack(std::span<std::byte> record) {
  constexpr size_t kFrames = sizeof(rec_stack);
  if (record.size() < kFrames) return;
  const bool user = record[offsetof(rec_stack, kind)] == std::byte{STACK_USER};
  if (!(user ? hidden_.user : hidden_.kernel)) return;
  if (user) user_addresses_.mask_stack(record);
  mask_number(record, offsetof(rec_stack, number));
  if (user) return;
  for (size_t at = kFrames; at + kWord <= record.size(); at += kWord)
    mask_word(record, at, std::nullopt);
}

void AddressMask::mask_event(std::span<std::byte> record) {
  const RecordView view(record.data());
  if (view.id() == RECORD_STACK) return mask_stack(record);
  if (view.id() == RECORD_MAPPING && hidden_.user) user_addresses_.mask_mapping(record);
  if (is_stack_record(view.id())) return;
  const size_t numbers = view.has_stacks() ? sizeof(stack_numbers) : 0;
  const size_t end = record.size() - numbers;
  if (hidden_.user && view.id() == EVENT_cpu_sample)
    user_addresses_.mask_sample(record.first(end), view.stacks().user);
  if (hidden_.kernel) mask_fields(view.id(), record.first(end));
  if (numbers == 0) return;
  if (hidden_.kernel) mask_number(record, end + offsetof(stack_numbers, kernel));
  if (hidden_.user) mask_number(record, end + offsetof(stack_numbers, user));
}

// The payload of an event without a definition could be anything. There is no such event.
void AddressMask::mask_fields(uint16_t id, std::span<std::byte> record) {
  if (id >= plans_.size() || !plans_[id]) {
    std::ranges::fill(record.subspan(sizeof(struct record)), std::byte{0});
    return;
  }
  for (const Part& part : plans_[id]->parts) mask_part(part, id, record);
  for (const Hole& hole : plans_[id]->holes) {
    const size_t begin = std::min<size_t>(hole.begin, record.size());
    const size_t end = std::min<size_t>(hole.end, record.size());
    std::ranges::fill(record.subspan(begin, end - begin), std::byte{0});
  }
  std::ranges::fill(record.subspan(end_of_fields(*schema_.find(id), record)), std::byte{0});
}

void AddressMask::mask_metadata(std::span<std::byte> record) {
  if (!hidden_.kernel) return;
  const RecordView view(record.data());
  if (view.id() == METADATA_slab_cache)
    mask_word(record, offsetof(rec_metadata_slab_cache, cache), std::nullopt);
  if (view.id() == METADATA_event)
    if (const Event* event = learn_event(schema_, view)) learn(*event);
  if (view.id() == METADATA_event || view.id() == METADATA_config ||
      view.id() == METADATA_config_part)
    blank_addresses(as_text(record.subspan(sizeof(struct record))));
}

PacketBytes AddressMask::masked(std::span<const std::byte> packet) {
  std::vector<std::byte> copy(packet.begin(), packet.end());
  PacketHeader header{};
  std::memcpy(&header, copy.data(), sizeof(header));
  const size_t begin = std::min(sizeof(header) + header.lost_count * sizeof(Lost), copy.size());
  const bool events = header.stream_id == static_cast<uint32_t>(StreamId::events);
  for_each_record(std::span(copy).subspan(begin), [&](std::span<std::byte> record) {
    events ? mask_event(record) : mask_metadata(record);
  });
  return std::make_shared<const std::vector<std::byte>>(std::move(copy));
}

std::vector<PacketBytes> AddressMask::masked(std::span<const PacketBytes> packets) {
  std::vector<PacketBytes> copies;
  for (const PacketBytes& packet : packets) copies.push_back(masked(packet));
  return copies;
}

std::vector<std::byte> AddressMask::masked_metadata(std::span<const std::byte> records) {
  std::vector<std::byte> copy(records.begin(), records.end());
  for_each_record(copy, [&](std::span<std::byte> record) { mask_metadata(record); });
  return copy;
}

std::function<std::optional<uint64_t>(uint64_t)> real_start(
    const std::shared_ptr<AddressMask>& mask) {
  if (!mask) return nullptr;
  return [mask](uint64_t shown) { return mask->mapping_start(shown); };
}

Schema without_addresses(Schema schema) {
  Schema blanked;
  blanked.gfp_flags = std::move(schema.gfp_flags);
  blanked.contexts = schema.contexts;
  blanked.stacks = schema.stacks;
  for (Event event : schema.events()) {
    blank_addresses(event.doc);
    blank_addresses(event.print);
    blanked.add(std::move(event));
  }
  return blanked;
}

nlohmann::json without_addresses(const nlohmann::json& value) {
  using nlohmann::json;
  std::string text = dump_json(value);
  blank_addresses(text);
  return json::parse(text);
}

}  // namespace ktraced
