// SPDX-License-Identifier: BSD-2-Clause
// The consumer's side of a stream ring in the arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "bpf/shared_state.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Reads a stream ring (struct stream_header) in memory that belongs to the caller. The functions
// are those of RingReader, and mean the same.
class ArenaRing {
 public:
  // Memory of a ring with this size of data.
  [[nodiscard]] static constexpr size_t memory_for(size_t bytes) {
    return sizeof(stream_header) + bytes + STREAM_SPILL;
  }
  // Makes an empty ring in memory_for(bytes) or more zeros. `bytes`: a power of two, at least
  // kSmallest. `wakeup`: wake the reader each time this many bytes were written, a power of two.
  static ArenaRing make(std::span<std::byte> memory, size_t bytes, size_t wakeup);
  // A ring of a daemon that has ended. Completes the release of space that it had begun. Nothing if
  // there is no valid ring.
  static std::optional<ArenaRing> open(std::span<std::byte> memory);

  static constexpr size_t kSmallest = 4096;

  [[nodiscard]] size_t size() const { return mask_ + 1; }
  [[nodiscard]] uint64_t consumed() const {
    return std::atomic_ref(header_->consumed).load(std::memory_order_acquire);
  }
  [[nodiscard]] uint64_t produced() const {
    return std::atomic_ref(header_->produced).load(std::memory_order_acquire);
  }

  // Reads as RingReader::read() does, and also stops at bytes that cannot be a record, which no
  // program writes. Throws std::runtime_error if `from` is such a place.
  template <class Visit>
  uint64_t read(uint64_t from, uint64_t until, Visit&& visit) const {
    uint64_t at = from;
    while (at < until) {
      const std::byte* place = data() + (at & mask_);
      const uint16_t word = size_word(place).load(std::memory_order_acquire);
      if (word == 0) break;
      const std::span bytes(place, size_of({.ts = 0, .id = 0, .size = word, .tid = 0}));
      if (!is_record(bytes)) {
        if (at == from) fail_damaged();
        break;
      }
      visit(at, bytes);
      at += bytes.size();
    }
    return at;
  }

  // Everything before `to` must have been read. If the daemon is killed here, either this or open()
  // of the next one has released the space.
  void release(uint64_t to);

 private:
  ArenaRing(std::byte* memory, size_t bytes)
      : header_(reinterpret_cast<stream_header*>(memory)), mask_(bytes - 1) {}
  [[nodiscard]] std::byte* data() const { return reinterpret_cast<std::byte*>(header_ + 1); }
  static std::atomic_ref<uint16_t> size_word(const std::byte* place) {
    return std::atomic_ref(
        *reinterpret_cast<uint16_t*>(const_cast<std::byte*>(place + offsetof(record, size))));
  }
  [[nodiscard]] static bool is_record(std::span<const std::byte> bytes);
  [[noreturn]] static void fail_damaged();
  [[nodiscard]] bool valid() const;
  void clear_consumed();

  stream_header* header_;
  uint64_t mask_;
};

}  // namespace ktraced
