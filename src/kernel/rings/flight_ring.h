// SPDX-License-Identifier: BSD-2-Clause
// One ring of the flight recorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/mapping.h"
#include "bpf/shared_state.h"

namespace ktraced {

// One flight ring (struct flight_header). Either no program writes to it, or the reader takes
// concurrent writes into account.
class FlightRing {
 public:
  // Makes or opens a ring in a map. Both fail with ExitCode::os.
  static Result<FlightRing> make(uint32_t cpu, uint32_t bank, size_t bytes);
  static Result<FlightRing> open(Fd map, size_t bytes);
  // Bytes of a ring with everything.
  [[nodiscard]] static constexpr size_t whole_size(size_t bytes) {
    return sizeof(flight_header) + bytes + FLIGHT_SPILL;
  }
  // Makes a ring in a new area of the arena, which is at this offset.
  static FlightRing make_in_arena(uint32_t offset, std::span<std::byte> area, size_t bytes);
  // Opens one, by its place. Fails with ExitCode::os.
  static Result<FlightRing> open_in_arena(uint32_t place, std::span<std::byte> area);

  // Result of a walk from the newest to the oldest record. Uses one byte per record: a ring may
  // contain many millions.
  struct Walk {
    std::vector<uint8_t> sizes;  // of the whole records, newest first, in units of 8 bytes
    uint64_t head = 0;           // position of the newest
    uint64_t bytes = 0;          // of all records
    bool intact = true;          // false: ended at bytes that cannot be a record
  };
  [[nodiscard]] Walk walk() const;

  // Calls `visit(record bytes)` for the records of a walk, oldest first. The bytes stay valid
  // until clear().
  template <class Visit>
  void for_each_oldest_first(const Walk& walk, Visit&& visit) const {
    uint64_t end = walk.bytes;
    for (size_t i = walk.sizes.size(); i-- > 0;) {
      const size_t size = size_t{walk.sizes[i]} * 8;
      end -= size;
      visit(std::span<const std::byte>(at(walk.head + end), size));
    }
  }

  // Adds the overwritten records to `sums`, by event id. Returns the time of the oldest record that
  // is not overwritten; 0 if none is overwritten. `frozen`: no program writes meanwhile. Else a
  // record may be unfinished for long, and what is older cannot be found: the result is then that
  // of the last call. For one thread.
  uint64_t add_overwritten(std::vector<uint64_t>& sums, bool frozen) const;
  // Records written since the ring was empty, by event id, and all their bytes; including
  // overwritten ones.
  [[nodiscard]] std::vector<uint64_t> written() const;
  [[nodiscard]] uint64_t written_bytes() const;
  // Records of an event written until it was last emptied, and since it was made.
  [[nodiscard]] uint64_t written_before(uint16_t event) const { return header().emptied[event]; }
  [[nodiscard]] uint64_t ever_written(uint16_t event) const;
  [[nodiscard]] size_t capacity() const { return bytes_; }
  // Bytes of its current content.
  [[nodiscard]] uint64_t history_bytes() const;
  // Empties the ring. Idempotent.
  void clear();

  // The map of the ring; -1: it is in the arena.
  [[nodiscard]] int map_fd() const { return map_.get(); }
  // Offset of its data in the arena, by which programs find it; 0: it is in a map.
  [[nodiscard]] uint32_t place() const { return place_; }
  // Memory of the ring, in bytes.
  [[nodiscard]] size_t memory() const { return memory_.size(); }

 private:
  FlightRing(std::span<std::byte> memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
  [[nodiscard]] flight_header& header() const {
    return *reinterpret_cast<flight_header*>(memory_.data());
  }
  [[nodiscard]] const std::byte* at(uint64_t position) const {
    return memory_.data() + sizeof(flight_header) + (position & (bytes_ - 1));
  }

  // The records of a ring, as far as they are known to have been there while they were read.
  struct Kept {
    std::vector<uint64_t> records;  // by event id
    uint64_t oldest_ns = 0;         // time of the oldest record
    uint64_t bytes = 0;             // of all records
    bool intact = true;             // false: ended before the oldest, at bytes that are no record
    std::vector<record> newest;     // headers of the newest ones, newest first
  };
  [[nodiscard]] Kept read_kept(uint64_t head) const;
  [[nodiscard]] bool is_written(uint64_t head, const Kept& kept) const;
  void read_overwritten(bool frozen) const;

  Fd map_;
  Mapping mapping_;  // of the map
  std::span<std::byte> memory_;
  size_t bytes_;
  uint32_t place_ = 0;
  // What add_overwritten() has read last.
  mutable std::vector<uint64_t> overwritten_;  // by event id; empty: none
  mutable uint64_t oldest_ns_ = 0;
};

}  // namespace ktraced
