// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/arena_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace ktraced {

ArenaRing ArenaRing::make(std::span<std::byte> memory, size_t bytes, size_t wakeup) {
  ArenaRing ring(memory.data(), bytes);
  ring.header_->mask = bytes - 1;
  ring.header_->wakeup = wakeup;
  return ring;
}

std::optional<ArenaRing> ArenaRing::open(std::span<std::byte> memory) {
  if (memory.size() < memory_for(kSmallest)) return std::nullopt;
  const uint64_t bytes = reinterpret_cast<const stream_header*>(memory.data())->mask + 1;
  if (bytes < kSmallest || !std::has_single_bit(bytes) || bytes > memory.size() - memory_for(0))
    return std::nullopt;
  ArenaRing ring(memory.data(), bytes);
  if (!ring.valid()) return std::nullopt;
  ring.clear_consumed();
  return ring;
}

bool ArenaRing::valid() const {
  const uint64_t before = consumed();
  const uint64_t released = header_->released;
  return released <= before && before - released <= size() && produced() - released <= size() &&
         before <= produced();
}

bool ArenaRing::is_record(std::span<const std::byte> bytes) {
  const size_t size = bytes.size();
  if (size < sizeof(record) || size > RECORD_MAX) return false;
  const uint16_t id = RecordView(bytes.data()).id();
  return id != 0 && id < EVENT_ID_MAX;
}

void ArenaRing::fail_damaged() {
  throw std::runtime_error("a stream ring is damaged; begin the stream again");
}

void ArenaRing::release(uint64_t to) {
  std::atomic_ref(header_->consumed).store(to, std::memory_order_release);
  clear_consumed();
}

// Programs take the space for zeros. A record at the end continues in the spill area, and leaves as
// much free at the beginning.
void ArenaRing::clear_consumed() {
  const uint64_t to = consumed();
  const uint64_t from = header_->released;
  const size_t begin = from & mask_;
  const size_t length = to - from;
  const size_t before_end = std::min(length, size() - begin);
  std::memset(data() + begin, 0, before_end);
  if (before_end < length) {
    std::memset(data() + size(), 0, STREAM_SPILL);
    std::memset(data(), 0, length - before_end);
  }
  std::atomic_ref(header_->released).store(to, std::memory_order_release);
}

}  // namespace ktraced
