// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/flight_memory.h"

#include <bpf/bpf.h>

#include <bit>
#include <cerrno>

#include "kernel/pins/map_layout.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
namespace {

std::string pin_name(uint32_t bank, uint32_t cpu) {
  return bank == FlightMemory::kRetired ? fmt::format("retired_{}", cpu)
                                        : fmt::format("flight_{}_{}", bank, cpu);
}

// `bytes`: of its records; 0: of any size.
bool is_flight_ring(const Fd& map, size_t bytes) {
  const MapLayout layout = layout_of(map.get());
  const size_t data = bytes != 0 ? bytes : layout.value_size - FlightRing::whole_size(0);
  return std::has_single_bit(data) &&
         layout == MapLayout{.type = BPF_MAP_TYPE_ARRAY,
                             .key_size = sizeof(uint32_t),
                             .value_size = static_cast<uint32_t>(FlightRing::whole_size(data)),
                             .entries = 1,
                             .mappable = true};
}

}  // namespace

FlightMemory::FlightMemory(const BpfObject& object, int rings_map, int layout_map)
    : object_(&object),
      arena_(object.arena()),
      rings_map_(rings_map),
      table_(arena_ != nullptr ? flight_places_of(layout_map) : 0),
      cpus_(possible_cpus()) {}

std::atomic_ref<uint32_t> FlightMemory::place(uint32_t bank, uint32_t cpu) const {
  return bank == kRetired ? arena_->place(ARENA_RETIRED_PLACES, cpu)
                          : arena_->place(table_, index(bank, cpu));
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
  const bool may_have_place = bank == kRetired ? arena_ != nullptr : table_ != 0;
  if (const uint32_t offset = may_have_place ? place(bank, cpu).load() : 0; offset != 0) {
    auto ring = FlightRing::open_in_arena(offset, arena_->area(offset));
    if (!ring) return propagate(ring);
    return std::optional(std::move(*ring));
  }
  const Pins* pins = object_->pins();
  Fd map = pins != nullptr ? pins->get(Pins::Kind::ring, pin_name(bank, cpu)) : Fd();
  if (!map) return std::nullopt;
  if (!is_flight_ring(map, bytes))
    return pins->damaged(Pins::Kind::ring, pin_name(bank, cpu),
                         bytes == 0 ? "it is no flight ring"
                                    : fmt::format("it is no flight ring of {} KiB", bytes / 1024));
  auto ring =
      bytes != 0 ? FlightRing::open(std::move(map), bytes) : FlightRing::open(std::move(map));
  if (!ring) return propagate(ring);
  return std::optional(std::move(*ring));
}

Result<> FlightMemory::keep(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0 || object_->pins() == nullptr) return {};
  return object_->pins()->pin(Pins::Kind::ring, pin_name(bank, cpu), ring.map_fd());
}

Result<> FlightMemory::stage(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0 || object_->pins() == nullptr) return {};
  return object_->pins()->stage(Pins::Kind::ring, pin_name(bank, cpu), ring.map_fd());
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

void FlightMemory::retire(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0) {
    place(kRetired, cpu).store(ring.place());
    place(bank, cpu).store(0);
  } else if (const Pins* pins = object_->pins()) {
    static_cast<void>(pins->rename(Pins::Kind::ring, pin_name(bank, cpu), pin_name(kRetired, cpu)));
  }
}

void FlightMemory::hide(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0)
    place(bank, cpu).store(0);
  else if (const Pins* pins = object_->pins())
    pins->unpin(Pins::Kind::ring, pin_name(bank, cpu));
}

void FlightMemory::free(uint32_t bank, uint32_t cpu, const FlightRing& ring) const {
  if (ring.place() != 0) {
    arena_->free(ring.place());
  } else if (bank != kRetired) {
    const uint32_t slot = index(bank, cpu);
    bpf_map_delete_elem(rings_map_, &slot);
  }
}

}  // namespace ktraced
