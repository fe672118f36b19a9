// SPDX-License-Identifier: BSD-2-Clause
// How much memory new rings need, and whether there is that much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.h"

namespace ktraced {

// New rings: the same ones for each of some CPUs.
struct RingMemory {
  size_t cpus = 0;
  uint32_t flight_banks = 0;  // flight rings of a CPU
  uint64_t flight_bytes = 0;  // of the records of each of them
  uint64_t stream_bytes = 0;  // of the stream rings of a CPU

  // Memory of all rings, in bytes.
  [[nodiscard]] uint64_t bytes() const;
  // "flight rings take 64 MiB (2 CPUs x flight.banks 2 x flight.buffer_kb 16384)"
  [[nodiscard]] std::string text() const;
};

// Fails with ExitCode::unavailable if the rings exceed the lowest memory limit of the daemon's
// control groups: no later attempt would succeed. The errors of both functions name the sizes, the
// limit and the remedies.
[[nodiscard]] Result<> check_memory_limit(const RingMemory& rings);
// Fails also, with ExitCode::os, if they exceed what the memory limits leave now. Call it before
// the first of the rings is made.
[[nodiscard]] Result<> check_memory_room(const RingMemory& rings);

}  // namespace ktraced
