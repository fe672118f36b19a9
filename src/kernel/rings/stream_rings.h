// SPDX-License-Identifier: BSD-2-Clause
// The stream rings of a session: one for each CPU.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "kernel/programs/bpf_object.h"
#include "kernel/rings/stream_places.h"

namespace ktraced {

// Owns the rings of one session and gives them to the programs. A CPU gets its ring
// when it comes online, and keeps it when it goes offline.
class StreamRings {
 public:
  // `ring_bytes`: size of each new ring, a power of two and a multiple of the page size. `pinned`:
  // the rings are pinned with the object, for the next daemon to adopt with their content.
  // `object` must outlive this.
  StreamRings(const BpfObject& object, uint32_t session, size_t ring_bytes, bool pinned);
  StreamRings(StreamRings&& other) noexcept = default;
  StreamRings& operator=(StreamRings&&) = delete;
  // The programs keep using pinned rings.
  ~StreamRings();

  // Adopts the pinned rings. Fails with ExitCode::os.
  Result<> adopt();
  // Removes the pins and takes the rings from the programs; only they can still be read.
  void retire();

  // Creates a ring for `cpu` if it has none. Fails with ExitCode::os.
  Result<> add_cpu(uint32_t cpu);
  // Replaces all rings by empty ones of another size. Returns the old ones, to which no program
  // writes any more; on failure (ExitCode::os) they stay active.
  Result<std::map<uint32_t, StreamRing>> resize(size_t ring_bytes);

  [[nodiscard]] uint32_t session() const { return session_; }
  [[nodiscard]] std::map<uint32_t, StreamRing>& rings() { return rings_; }
  [[nodiscard]] const std::map<uint32_t, StreamRing>& rings() const { return rings_; }
  [[nodiscard]] size_t ring_bytes() const { return ring_bytes_; }

 private:
  void note_ring_bytes(size_t ring_bytes);

  const BpfObject& object_;
  uint32_t session_;
  uint32_t cpus_;
  size_t ring_bytes_;
  bool pinned_;
  bool retired_ = false;
  std::unique_ptr<StreamPlaces> places_;
  std::map<uint32_t, StreamRing> rings_;
};

// Numbers of the CPUs that are online now, ascending.
[[nodiscard]] std::vector<uint32_t> online_cpus();
// Number of CPUs this kernel can ever have; CPU numbers are below it.
[[nodiscard]] uint32_t possible_cpus();

}  // namespace ktraced
