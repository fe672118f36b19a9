// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/flight_ring.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

namespace ktraced {
namespace {

// Calls `visit(header)` for the records of a ring from the newest, at offset 0, up to offset
// `reach`. `at(offset)` returns their address. False: ended at bytes that cannot be a record.
bool visit_newest_first(uint64_t reach, auto&& at, auto&& visit) {
  record header;
  // Even the header of the oldest record may be overwritten.
  for (uint64_t offset = 0; offset + sizeof(header) <= reach; offset += header.size) {
    std::memcpy(&header, at(offset), sizeof(header));
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > FLIGHT_SPILL ||
        header.id == 0 || header.id >= EVENT_ID_MAX)
      return false;
    // The newest record may have overwritten part of it.
    if (offset + header.size > reach) break;
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
  return open(std::move(map), bytes);
}

Result<FlightRing> FlightRing::open(Fd map, size_t bytes) {
  const size_t value_size = whole_size(bytes);
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  auto mapping =
      Mapping::map(map.get(), (value_size + page - 1) / page * page, PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  FlightRing ring({mapping->data(), mapping->size()}, bytes);
  ring.map_ = std::move(map);
  ring.mapping_ = std::move(*mapping);
  return ring;
}

Result<FlightRing> FlightRing::open(Fd map) {
  bpf_map_info info{};
  uint32_t length = sizeof(info);
  if (bpf_obj_get_info_by_fd(map.get(), &info, &length) != 0)
    return fail(ExitCode::os, "cannot read the size of a flight ring: {}", errno_text(errno));
  constexpr size_t kOther = whole_size(0);
  if (info.value_size <= kOther) return fail(ExitCode::os, "a pinned map is no flight ring");
  return open(std::move(map), info.value_size - kOther);
}

FlightRing FlightRing::make_in_arena(uint32_t offset, std::span<std::byte> area, size_t bytes) {
  FlightRing ring(area, bytes);
  ring.header().mask = bytes - 1;
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
        walk.bytes += header.size;
        walk.sizes.push_back(static_cast<uint8_t>(header.size / 8));
      });
  return walk;
}

// Visits every record: for 64 MiB this takes about 10 ms.
uint64_t FlightRing::add_overwritten(std::vector<uint64_t>& sums) const {
  const std::vector<uint64_t> all = written();  // first: later records are still there
  const uint64_t head = 0 - written_bytes();
  if (0 - head <= bytes_) return 0;
  std::vector<uint64_t> kept(EVENT_ID_MAX);
  uint64_t oldest_ns = 0;
  const bool intact = visit_newest_first(
      bytes_, [&](uint64_t offset) { return at(head + offset); },
      [&](const record& header) {
        ++kept[header.id];
        oldest_ns = header.ts;
      });
  if (!intact) return oldest_ns;  // a program is writing: try again at the next call
  for (size_t event = 0; event < EVENT_ID_MAX; ++event)
    if (all[event] > kept[event]) sums[event] += all[event] - kept[event];
  return oldest_ns;
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
}

}  // namespace ktraced
