// SPDX-License-Identifier: BSD-2-Clause
// Where programs find the stream rings of a session.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernel/programs/bpf_object.h"
#include "kernel/rings/stream_ring.h"

namespace ktraced {

// The places of a session's rings, one for each CPU: in a map of maps with BPF ring buffers, or in
// a table of the arena. Used by one thread at a time.
class StreamPlaces {
 public:
  virtual ~StreamPlaces() = default;

  // A new ring, which programs do not know yet. Its memory must be there, as for Arena::allocate().
  // Fails with ExitCode::os.
  virtual Result<StreamRing> make(uint32_t cpu, size_t bytes) = 0;
  // The ring that an earlier daemon has left there; nothing if there is none. Fails with
  // ExitCode::os, or as Pins::damaged().
  virtual Result<std::optional<StreamRing>> adopt(uint32_t cpu) = 0;
  // Gives the programs this ring, in the place of an earlier one. Fails with ExitCode::os.
  virtual Result<> install(uint32_t cpu, const StreamRing& ring) = 0;
  // Leaves the place of a CPU empty.
  virtual void remove(uint32_t cpu) = 0;
  // Returns when no program uses what was replaced or removed before.
  virtual void wait() = 0;
};

// The places for the rings of a session. `pinned`: the rings are pinned with the object. `object`
// must outlive the result.
[[nodiscard]] std::unique_ptr<StreamPlaces> stream_places(const BpfObject& object, uint32_t session,
                                                          bool pinned);

// Removes the rings that an earlier daemon has left to a session.
void remove_left_rings(const BpfObject& object, uint32_t session);

}  // namespace ktraced
