// SPDX-License-Identifier: BSD-2-Clause
// How much memory the rings of a configuration take, and the stream rings of a session get.
#pragma once

#include <cstddef>

#include "base/error.h"
#include "daemon/config/config.h"
#include "daemon/stream/ring_memory.h"

namespace ktraced {

// How much memory the stream rings may use.
struct RingBudget {
  size_t ring_bytes = 0;   // of each ring, where it fits
  size_t total_bytes = 0;  // of all stream rings of all sessions

  bool operator==(const RingBudget&) const = default;
};

// The budget of a configuration.
[[nodiscard]] RingBudget ring_budget(const Config& config);

// The flight rings of a configuration; none if the recorder is off in it.
[[nodiscard]] RingMemory flight_rings(const FlightConfig& config, size_t cpus);

// What the programs of a configuration use for stacks, in bytes; 0: no event has stacks in it.
[[nodiscard]] uint64_t stack_bytes(const Config& config);

// What a session asks for.
struct RingRequest {
  size_t ring_bytes = 0;  // a power of two; 0: as much as fits
  bool ordinary_user = false;
};

// The size of each ring of a new session, while those of others use `used` bytes in all. Without a
// requested size, it gets at most half of what is left, so that there is room for others. An
// ordinary user gets no more than that either. Fails with ExitCode::unavailable.
[[nodiscard]] Result<size_t> ring_share(const RingBudget& budget, size_t used, size_t cpus,
                                        const RingRequest& request);

}  // namespace ktraced
