// SPDX-License-Identifier: BSD-2-Clause
// How much memory new rings need, and whether there is that much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "base/files/cgroup_memory.h"

namespace ktraced {

// New rings, the same ones for each of some CPUs, and what programs use for the stacks in them.
struct RingMemory {
  size_t cpus = 0;
  uint32_t flight_banks = 0;  // flight rings of a CPU
  uint64_t flight_bytes = 0;  // of the records of each of them
  uint64_t stream_bytes = 0;  // of the stream rings of a CPU
  uint64_t stack_bytes = 0;   // of what programs use for stacks, on all CPUs

  // Memory of all of it, in bytes.
  [[nodiscard]] uint64_t bytes() const;
  // "flight rings take 64 MiB (2 CPUs x flight.banks 2 x flight.buffer_kb 16384)"
  [[nodiscard]] std::string text() const;
};

// What a start needs beside its rings, in bytes.
struct StartMemory {
  uint64_t maps = 0;   // as maps_memory()
  uint64_t model = 0;  // one flight ring, which the programs are loaded with

  // The loaded programs and the daemon's own memory are 8 MiB on Linux 6.18.
  static constexpr uint64_t kPrograms = uint64_t{12} << 20;
  // For the verifier, beside what check_memory_limit() keeps free: together they are 18 MiB there.
  static constexpr uint64_t kVerifier = uint64_t{10} << 20;

  [[nodiscard]] uint64_t loaded() const { return maps + kPrograms; }
  // At most, before there are rings.
  [[nodiscard]] uint64_t loading() const { return loaded() + model + kVerifier; }
};

// Fails with ExitCode::unavailable if the rings of a start, or the programs alone while they are
// loaded, exceed the lowest of these limits together with what else a start needs: no later start
// would succeed. The errors of both functions name the sizes, the limit and the remedies.
[[nodiscard]] Result<> check_memory_limit(std::span<const MemoryLimit> limits,
                                          const RingMemory& rings, const StartMemory& start);
// Fails also, with ExitCode::os, if they exceed what the memory limits leave now. Call it before
// the first of the rings is made.
[[nodiscard]] Result<> check_memory_room(const RingMemory& rings);

}  // namespace ktraced
