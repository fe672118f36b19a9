// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/flight_ring.h"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "kernel/pins/map_layout.h"
#include "trace/packet/packet.h"

namespace ktraced {
namespace {

// Records whose headers are read before it is checked that no program has overwritten them.
constexpr size_t kChunk = 64;
// How often the reading of a ring is tried while a program is writing to it.
constexpr int kAttempts = 64;

bool is_record(const record& header) {
  return size_of(header) >= sizeof(header) && size_of(header) <= FLIGHT_SPILL &&
         id_of(header) != 0 && id_of(header) < EVENT_ID_MAX;
}

// The header of a record that a program may be writing.
record load_header(const std::byte* at) {
  std::array<uint64_t, sizeof(record) / sizeof(uint64_t)> words;
  auto* from = reinterpret_cast<uint64_t*>(const_cast<std::byte*>(at));
  for (uint64_t& word : words) word = std::atomic_ref(*from++).load(std::memory_order_relaxed);
  return std::bit_cast<record>(words);
}

// Calls `visit(header)` for the records of a ring from the newest, at offset 0, up to offset
// `reach`. `at(offset)` returns their address. False: ended at bytes that cannot be a record.
bool visit_newest_first(uint64_t reach, auto&& at, auto&& visit) {
  record header;
  // Even the header of the oldest record may be overwritten.
  for (uint64_t offset = 0; offset + sizeof(header) <= reach; offset += size_of(header)) {
    std::memcpy(&header, at(offset), sizeof(header));
    if (!is_record(header)) return false;
    // The newest record may have overwritten part of it.
    if (offset + size_of(header) > reach) break;
    visit(header);
  }
  return true;
}

}  // namespace

Result<FlightRing> FlightRing::make(uint32_t cpu, uint32_t bank, size_t bytes) {
  const size_t value_size = whole_size(bytes);
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  Fd map(bpf_map_create(BPF_MAP_TYPE_ARRAY, fmt::format("flight{}_{}", bank, cpu).c_str(),
                        sizeof(uint32_t), static_cast<uint32_t>(value_size), 1, &options));
  if (!map)
    return fail(ExitCode::os,
                "cannot make a flight ring of {} KiB for CPU {}: {}; choose a smaller "
                "flight.buffer_kb or fewer flight.banks",
                bytes / 1024, cpu, errno_text(errno));
  auto ring = open(std::move(map), bytes);
  if (ring) ring->header().stacks_since = boottime_ns();
  return ring;
}

Result<FlightRing> FlightRing::open(Fd map, size_t bytes) {
  auto mapping = Mapping::map(map.get(), whole_size(bytes), PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  FlightRing ring({mapping->data(), mapping->size()}, bytes);
  ring.map_ = std::move(map);
  ring.mapping_ = std::move(*mapping);
  return ring;
}

FlightRing FlightRing::make_in_arena(uint32_t offset, std::span<std::byte> area, size_t bytes) {
  FlightRing ring(area, bytes);
  ring.header().mask = bytes - 1;
  ring.header().stacks_since = boottime_ns();
  ring.place_ = offset + static_cast<uint32_t>(sizeof(flight_header));
  return ring;
}

Result<FlightRing> FlightRing::open_in_arena(uint32_t place, std::span<std::byte> area) {
  if (area.size() < whole_size(0))
    return fail(ExitCode::os, "a flight ring has no memory in the arena");
  FlightRing ring(area, 0);
  ring.bytes_ = ring.header().mask + 1;
  if (!std::has_single_bit(ring.bytes_) || ring.bytes_ > area.size() - whole_size(0))
    return fail(ExitCode::os, "a flight ring in the arena has no valid size");
  ring.place_ = place;
  return ring;
}

FlightRing::Walk FlightRing::walk() const {
  Walk walk;
  walk.head = 0 - written_bytes();
  walk.intact = visit_newest_first(
      history_bytes(), [&](uint64_t offset) { return at(walk.head + offset); },
      [&](const record& header) {
        walk.bytes += size_of(header);
        walk.sizes.push_back(static_cast<uint8_t>(size_of(header) / 8));
      });
  return walk;
}

// A program first reserves space, by moving the head, and then writes the record. So what was read
// is whole if the head has not come round to it by then, as with a seqlock.
FlightRing::Kept FlightRing::read_kept(uint64_t head) const {
  Kept kept{.records = std::vector<uint64_t>(EVENT_ID_MAX), .newest = {}};
  std::vector<record> chunk;
  uint64_t offset = 0, room = bytes_;
  do {
    chunk.clear();
    while (chunk.size() < kChunk && offset + sizeof(record) <= room) {
      const record header = load_header(at(head + offset));
      if (!is_record(header)) break;
      offset += size_of(header);
      chunk.push_back(header);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    room = bytes_ - std::min<uint64_t>(bytes_, written_bytes() - (0 - head));
    for (const record& header : chunk) {
      if (kept.bytes + size_of(header) > room) break;
      kept.bytes += size_of(header);
      kept.oldest_ns = header.ts;
      ++kept.records[id_of(header)];
      if (kept.newest.size() < kChunk) kept.newest.push_back(header);
    }
  } while (chunk.size() == kChunk && offset <= room);
  kept.intact = kept.bytes != 0 && offset + sizeof(record) > room;
  return kept;
}

// The space of a record that is not written yet has bytes of the lap before: they soon change, or
// they are those of an older record than all that the ring has.
bool FlightRing::is_written(uint64_t head, const Kept& kept) const {
  return std::ranges::all_of(kept.newest, [&](const record& header) {
    const record now = load_header(at(head));
    head += size_of(header);
    return std::memcmp(&header, &now, sizeof(now)) == 0 && header.ts >= kept.oldest_ns;
  });
}

// Reads every record: for 64 MiB this takes about 10 ms.
void FlightRing::read_overwritten(bool frozen) const {
  uint64_t read = 0;  // bounds the time for damaged bytes
  uint64_t known_ns = boottime_ns();
  for (int attempt = 0; attempt < kAttempts && read <= bytes_; ++attempt) {
    const std::vector<uint64_t> all = written();  // first: later records are still there
    const uint64_t head = 0 - written_bytes();
    if (0 - head <= bytes_) return;
    const Kept kept = read_kept(head);
    read += kept.bytes;
    if (kept.bytes == 0 || (!frozen && !is_written(head, kept))) continue;
    known_ns = std::min(known_ns, kept.oldest_ns);
    if (!kept.intact) continue;
    overwritten_.resize(EVENT_ID_MAX);
    for (size_t event = 0; event < EVENT_ID_MAX; ++event)
      overwritten_[event] = all[event] - std::min(all[event], kept.records[event]);
    oldest_ns_ = kept.oldest_ns;
    return;
  }
  if (overwritten_.empty()) oldest_ns_ = known_ns;
}

uint64_t FlightRing::add_overwritten(std::vector<uint64_t>& sums, bool frozen) const {
  read_overwritten(frozen);
  for (size_t event = 0; event < overwritten_.size(); ++event) sums[event] += overwritten_[event];
  return oldest_ns_;
}

std::vector<uint64_t> FlightRing::written() const {
  std::vector<uint64_t> records(EVENT_ID_MAX);
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
    records[event] = ever_written(event) - header().emptied[event];
  return records;
}

uint64_t FlightRing::ever_written(uint16_t event) const {
  return std::atomic_ref(header().records[event]).load(std::memory_order_relaxed);
}

uint64_t FlightRing::written_bytes() const {
  return 0 - std::atomic_ref(header().head).load(std::memory_order_acquire);
}

uint64_t FlightRing::history_bytes() const { return std::min<uint64_t>(written_bytes(), bytes_); }

// If the daemon ends in between, the ring is empty, and the next daemon clears it again.
void FlightRing::clear() {
  std::atomic_ref(header().head).store(0, std::memory_order_release);
  std::memcpy(header().emptied, header().records, sizeof(header().emptied));
  header().stacks_since = boottime_ns();
  overwritten_.clear();
  oldest_ns_ = 0;
}

}  // namespace ktraced
