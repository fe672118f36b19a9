// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/flight_memory.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "kernel/pins/map_layout.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
namespace {

std::string pin_name(uint32_t bank, uint32_t cpu) { return fmt::format("flight_{}_{}", bank, cpu); }

// `bytes`: of its records.
bool is_flight_ring(const Fd& map, size_t bytes) {
  return layout_of(map.get()) ==
         MapLayout{.type = BPF_MAP_TYPE_ARRAY,
                   .key_size = sizeof(uint32_t),
                   .value_size = static_cast<uint32_t>(FlightRing::whole_size(bytes)),
                   .entries = 1,
                   .mappable = true};
}

}  // namespace

FlightMemory::FlightMemory(const BpfObject& object)
    : object_(object),
      arena_(object.arena()),
      rings_map_(object.map_fd("flight_rings")),
      table_(arena_ != nullptr ? flight_places_of(object.map_fd(".rodata.layout")) : 0),
      cpus_(possible_cpus()) {}

std::atomic_ref<uint32_t> FlightMemory::place(uint32_t bank, uint32_t cpu) const {
  return arena_->place(table_, index(bank, cpu));
}

Result<FlightRing> FlightMemory::make(uint32_t bank, uint32_t cpu, size_t bytes) const {
  if (table_ == 0) return FlightRing::make(cpu, bank, bytes);
  const auto offset = arena_->allocate(FlightRing::whole_size(bytes), node_of_cpu(cpu));
  if (!offset)
    return fail(offset.error().code,
                "cannot make a flight ring of {} KiB for CPU {}: {}; choose a smaller "
                "flight.buffer_kb or fewer flight.banks",
                bytes / 1024, cpu, offset.error().message);
  return FlightRing::make_in_arena(*offset, arena_->area(*offset), bytes);
}

Result<std::optional<FlightRing>> FlightMemory::adopt(uint32_t bank, uint32_t cpu,
                                                      size_t bytes) const {
  if (const uint32_t offset = table_ != 0 ? place(bank, cpu).load() : 0; offset != 0) {
    auto ring = FlightRing::open_in_arena(offset, arena_->area(offset));
    if (!ring) return propagate(ring);
    return std::optional(std::move(*ring));
  }
  const Pins* pins = object_.pins();
  Fd map = pins != nullptr ? pins->get(Pins::Kind::ring, pin_name(bank, cpu)) : Fd();
  if (!map) return std::nullopt;
  if (!is_flight_ring(map, bytes))
    return pins->damaged(Pins::Kind::ring, pin_name(bank, cpu),
                         fmt::format("it is no flight ring of {} KiB", bytes / 1024));
  auto ring = FlightRing::open(std::move(map), bytes);
  if (!ring) return propagate(ring);
  return std::optional(std::move(*ring));
}

Result<> FlightMemory::keep(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0 || object_.pins() == nullptr) return {};
  return object_.pins()->pin(Pins::Kind::ring, pin_name(bank, cpu), ring.map_fd());
}

Result<> FlightMemory::show(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0) {
    const uint32_t old = place(bank, cpu).exchange(ring.place());
    if (old != 0 && old != ring.place()) arena_->free(old);
    return {};
  }
  const uint32_t slot = index(bank, cpu);
  const int fd = ring.map_fd();
  uint32_t id = 0;
  if (bpf_map_lookup_elem(rings_map_, &slot, &id) == 0) return {};
  if (bpf_map_update_elem(rings_map_, &slot, &fd, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot give CPU {} its flight ring: {}", cpu, errno_text(errno));
  return {};
}

void FlightMemory::hide(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0)
    place(bank, cpu).store(0);
  else if (const Pins* pins = object_.pins())
    pins->unpin(Pins::Kind::ring, pin_name(bank, cpu));
}

void FlightMemory::free(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0) {
    arena_->free(ring.place());
  } else {
    const uint32_t slot = index(bank, cpu);
    bpf_map_delete_elem(rings_map_, &slot);
  }
}

}  // namespace ktraced
