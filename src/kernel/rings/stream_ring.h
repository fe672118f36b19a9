// SPDX-License-Identifier: BSD-2-Clause
// A stream ring of a CPU, of either kind.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "kernel/arena/arena_area.h"
#include "kernel/rings/arena_ring.h"
#include "kernel/rings/ring_reader.h"

namespace ktraced {

// Wakeup threshold: the reader is woken each time this part of a ring has been filled.
inline constexpr size_t kWakeupsPerRing = 4;

// A BPF ring buffer, or a ring in the arena whose memory this owns.
class StreamRing {
 public:
  explicit StreamRing(RingReader ring) : ring_(std::move(ring)) {}
  StreamRing(ArenaRing ring, ArenaArea area) : ring_(ring), area_(std::move(area)) {}

  // The size and the positions in bytes, as RingReader has them. Any thread may read the positions.
  [[nodiscard]] size_t size() const {
    return std::visit([](const auto& ring) { return ring.size(); }, ring_);
  }
  [[nodiscard]] uint64_t consumed() const {
    return std::visit([](const auto& ring) { return ring.consumed(); }, ring_);
  }
  [[nodiscard]] uint64_t produced() const {
    return std::visit([](const auto& ring) { return ring.produced(); }, ring_);
  }
  template <class Visit>
  uint64_t read(uint64_t from, uint64_t until, Visit&& visit) const {
    return std::visit([&](const auto& ring) { return ring.read(from, until, visit); }, ring_);
  }
  void release(uint64_t to) {
    std::visit([&](auto& ring) { ring.release(to); }, ring_);
  }

  // The BPF ring buffer, which becomes ready when the wakeup threshold is reached; -1 if it is
  // none.
  [[nodiscard]] int map_fd() const {
    const auto* reader = std::get_if<RingReader>(&ring_);
    return reader == nullptr ? -1 : reader->map_fd();
  }
  // Where it is in the arena; 0 if it is not.
  [[nodiscard]] uint32_t offset() const { return area_.offset(); }
  // The ring outlives this.
  void leave() { area_.leave(); }

 private:
  std::variant<RingReader, ArenaRing> ring_;
  ArenaArea area_;
};

}  // namespace ktraced
