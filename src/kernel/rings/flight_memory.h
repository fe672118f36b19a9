// SPDX-License-Identifier: BSD-2-Clause
// Memory of the flight rings, and where programs find them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "kernel/programs/bpf_object.h"
#include "kernel/rings/flight_ring.h"

namespace ktraced {

// Where the flight rings of a set of banks are: in areas of the object's arena, or each in a map of
// its own, which the map flight_rings has. They outlive the daemon as the object does.
class FlightMemory {
 public:
  // `object` must outlive this.
  explicit FlightMemory(const BpfObject& object);

  // Makes a ring that nobody finds yet; free() frees it. Its memory must be there, as for
  // Arena::allocate(). Fails with ExitCode::os.
  Result<FlightRing> make(uint32_t bank, uint32_t cpu, size_t bytes) const;
  // The ring of an earlier daemon. Nothing if there is none. Fails with ExitCode::os, or as
  // Pins::damaged().
  Result<std::optional<FlightRing>> adopt(uint32_t bank, uint32_t cpu, size_t bytes) const;
  // From now on the next daemon finds the ring, if the programs do. Fails with ExitCode::os.
  Result<> keep(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;
  // The programs find the ring, and no longer the one of an earlier daemon. Fails with
  // ExitCode::os.
  Result<> show(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;
  // The next daemon does not find the ring.
  void hide(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;
  // The programs do not find the hidden ring either. Its memory is freed, at the latest with it.
  void free(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;

 private:
  [[nodiscard]] uint32_t index(uint32_t bank, uint32_t cpu) const { return bank * cpus_ + cpu; }
  [[nodiscard]] std::atomic_ref<uint32_t> place(uint32_t bank, uint32_t cpu) const;

  const BpfObject& object_;
  Arena* arena_;  // null: the kernel has none
  int rings_map_;
  uint32_t table_;  // of the arena; 0: the rings are maps
  uint32_t cpus_;
};

}  // namespace ktraced
