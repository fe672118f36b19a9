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
  if (mappings_.size() >= kMaxMappings) mappings_.clear();
  Mapping& mapping = mappings_[start];
  mapping = {.end = std::max(mapping.end, end), .seen = ++noted_};
  const uint64_t shown = pseudonyms_.hide_mapping(start);
  if (starts_.size() >= kMaxMappings) starts_.clear();
  if (read_word(record, offsetof(rec_mapping, file)) == MAPPING_ANONYMOUS) starts_[shown] = start;
  write_word(record, offsetof(rec_mapping, start), shown);
  write_word(record, offsetof(rec_mapping, end), shown + (end - start));
}

std::optional<uint64_t> UserAddresses::start_of(uint64_t shown) const {
  const auto found = starts_.find(shown);
  return found == starts_.end() ? std::nullopt : std::optional(found->second);
}

void UserAddresses::mask_frames(std::span<std::byte> record) {
  for (size_t at = sizeof(rec_stack); at + sizeof(uint64_t) <= record.size();
       at += sizeof(uint64_t))
    write_word(record, at, moved(read_word(record, at), at != sizeof(rec_stack)));
}

void UserAddresses::mask_sample(std::span<std::byte> record) const {
  constexpr size_t kAt = offsetof(rec_cpu_sample, user_ip);
  if (record.size() < kAt + sizeof(uint64_t)) return;
  write_word(record, kAt, moved(read_word(record, kAt), false));
}

// Mappings of several processes can begin at the same address: all are moved to the same place, and
// the longest one has all of their frames. They can also overlap otherwise. The one that was seen
// last is most likely that of the process; if it is not, a reader finds nothing.
uint64_t UserAddresses::moved(uint64_t frame, bool returns) const {
  constexpr int kTries = 16;
  const uint64_t address = frame - (returns ? 1 : 0);
  const std::pair<const uint64_t, Mapping>* found = nullptr;
  auto next = mappings_.upper_bound(address);
  for (int i = 0; i < kTries && next != mappings_.begin(); ++i) {
    --next;
    if (address < next->second.end && (found == nullptr || next->second.seen > found->second.seen))
      found = &*next;
  }
  return found == nullptr ? 0 : pseudonyms_.hide_mapping(found->first) + (frame - found->first);
}

}  // namespace ktraced
