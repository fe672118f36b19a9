// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/access/user_addresses.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bpf/records.h"

namespace ktraced {
namespace {

uint64_t read_word(std::span<const std::byte> record, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, record.data() + at, sizeof(word));
  return word;
}

void write_word(std::span<std::byte> record, size_t at, uint64_t word) {
  std::memcpy(record.data() + at, &word, sizeof(word));
}

}  // namespace

// Processes that go on have their mappings again in a stream, so it is enough to know recent ones.
void UserAddresses::mask_mapping(std::span<std::byte> record) {
  if (record.size() < sizeof(rec_mapping)) return;
  const uint64_t start = read_word(record, offsetof(rec_mapping, start));
  const uint64_t end = read_word(record, offsetof(rec_mapping, end));
  const auto layout = static_cast<uint32_t>(read_word(record, offsetof(rec_mapping, layout)));
  if (mappings_.size() >= kMaxMappings) mappings_.clear();
  Mapping& mapping = mappings_[{layout, start}];
  mapping = {.end = std::max(mapping.end, end), .seen = ++noted_};
  const uint64_t shown = pseudonyms_.hide_mapping(layout, start);
  if (starts_.size() >= kMaxMappings) starts_.clear();
  if (read_word(record, offsetof(rec_mapping, file)) == MAPPING_ANONYMOUS) starts_[shown] = start;
  write_word(record, offsetof(rec_mapping, start), shown);
  write_word(record, offsetof(rec_mapping, end), shown + (end - start));
  write_word(record, offsetof(rec_mapping, layout), 0);
}

std::optional<uint64_t> UserAddresses::start_of(uint64_t shown) const {
  const auto found = starts_.find(shown);
  return found == starts_.end() ? std::nullopt : std::optional(found->second);
}

void UserAddresses::mask_stack(std::span<std::byte> record) {
  if (record.size() < sizeof(rec_stack)) return;
  rec_stack head{};
  std::memcpy(&head, record.data(), sizeof(head));
  for (size_t at = sizeof(rec_stack); at + sizeof(uint64_t) <= record.size();
       at += sizeof(uint64_t)) {
    const bool first = at == sizeof(rec_stack);
    const uint64_t shown = moved(head.layout, read_word(record, at), !first);
    write_word(record, at, shown);
    if (!first || shown == 0) continue;
    if (tops_.size() >= kMaxTops) tops_.clear();
    tops_[head.number] = shown;
  }
  head.layout = 0;
  std::memcpy(record.data(), &head, sizeof(head));
}

void UserAddresses::mask_sample(std::span<std::byte> record, uint64_t stack) const {
  constexpr size_t kAt = offsetof(rec_cpu_sample, user_ip);
  if (record.size() < kAt + sizeof(uint64_t) || read_word(record, kAt) == 0) return;
  const auto top = tops_.find(stack);
  write_word(record, kAt, top == tops_.end() ? 0 : top->second);
}

// Mappings of several processes with one layout can begin at the same address: all are moved to the
// same place, and the longest one has all of their frames. They can also overlap otherwise. The one
// that was seen last is most likely that of the process; if it is not, a reader finds nothing.
uint64_t UserAddresses::moved(uint32_t layout, uint64_t frame, bool returns) const {
  constexpr int kTries = 16;
  const uint64_t address = frame - (returns ? 1 : 0);
  const std::pair<const Place, Mapping>* found = nullptr;
  auto next = mappings_.upper_bound({layout, address});
  for (int i = 0; i < kTries && next != mappings_.begin(); ++i) {
    --next;
    if (next->first.first != layout) break;
    if (address < next->second.end && (found == nullptr || next->second.seen > found->second.seen))
      found = &*next;
  }
  if (found == nullptr) return 0;
  const uint64_t start = found->first.second;
  return pseudonyms_.hide_mapping(layout, start) + (frame - start);
}

}  // namespace ktraced
