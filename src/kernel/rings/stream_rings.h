// SPDX-License-Identifier: BSD-2-Clause
// The stream rings: one BPF ring buffer for each CPU.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "kernel/programs/bpf_object.h"
#include "kernel/rings/ring_reader.h"

namespace ktraced {

// Owns the rings and keeps them in the programs' map of rings. A CPU gets its ring when it comes
// online, and keeps it when it goes offline. Rings are pinned with the object; rings that are
// already pinned are adopted with their content.
class StreamRings {
 public:
  // `ring_bytes`: size of each new ring, a power of two and a multiple of the page size.
  // `object` must outlive this.
  StreamRings(const BpfObject& object, size_t ring_bytes);

  // Adopts the pinned rings. Fails with ExitCode::os.
  Result<> adopt();

  // Creates a ring for `cpu` if it has none. Fails with ExitCode::os.
  Result<> add_cpu(uint32_t cpu);
  // Replaces all rings by empty ones of another size. Returns the old ones, to which no program
  // writes any more; on failure (ExitCode::os) they stay active.
  Result<std::map<uint32_t, RingReader>> resize(size_t ring_bytes);

  [[nodiscard]] std::map<uint32_t, RingReader>& rings() { return rings_; }
  [[nodiscard]] const std::map<uint32_t, RingReader>& rings() const { return rings_; }
  [[nodiscard]] size_t ring_bytes() const { return ring_bytes_; }

 private:
  Result<> put_into_use(uint32_t cpu, const RingReader& ring);

  const BpfObject& object_;
  size_t ring_bytes_;
  std::map<uint32_t, RingReader> rings_;
};

// Numbers of the CPUs that are online now, ascending.
[[nodiscard]] std::vector<uint32_t> online_cpus();
// Number of CPUs this kernel can ever have; CPU numbers are below it.
[[nodiscard]] uint32_t possible_cpus();

}  // namespace ktraced
