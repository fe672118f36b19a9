// SPDX-License-Identifier: BSD-2-Clause
// Memory that programs reach without look-ups: a BPF arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/fd.h"
#include "base/mapping.h"
#include "bpf/shared_state.h"

namespace ktraced {

// BPF_MAP_TYPE_ARENA, which the headers of libbpf 1.1 lack.
inline constexpr uint32_t kArenaMapType = 33;

// Makes the map of an arena, without pages. Fails with ExitCode::os.
[[nodiscard]] Result<Fd> make_arena_map();

// Does the kernel have arenas, with atomic operations of programs? A transient failure counts as
// yes.
[[nodiscard]] bool kernel_has_arenas();

// The pages of the object's arena (bpf/state/arena_state.h), which go to areas and return. Areas
// outlive the daemon with the arena. Thread-safe.
class Arena {
 public:
  // `map` is that of the arena; `make_pages` and `free_pages` are programs of bpf/arena/pages.h.
  // All belong to the caller and must outlive this. Areas that no table mentions are freed: an
  // earlier daemon ended before it could. Fails with ExitCode::os.
  static Result<std::unique_ptr<Arena>> open(int map, int make_pages, int free_pages);

  // A new area of zeros: its offset. `node`: NUMA node of its memory; -1: any. Fails with
  // ExitCode::os, also if a memory limit that cannot be read leaves less, or as
  // check_memory_room().
  Result<uint32_t> allocate(size_t bytes, int node);
  // The offset may be anywhere in the area. No program and no table may use it.
  void free(uint32_t offset);
  // Bytes of the area that has this offset, which are whole pages.
  [[nodiscard]] std::span<std::byte> area(uint32_t offset) const;

  // A word of a table, where programs find an area.
  [[nodiscard]] std::atomic_ref<uint32_t> place(uint32_t table, uint32_t index) const;

 private:
  Arena(int make_pages, int free_pages) : make_pages_(make_pages), free_pages_(free_pages) {}
  Result<> make_tables();
  void free_unmentioned();
  [[nodiscard]] std::span<arena_area> areas() const;
  [[nodiscard]] arena_area* find(uint32_t offset) const;
  [[nodiscard]] std::optional<uint32_t> gap(uint32_t pages) const;
  bool request(int program, arena_request request) const;

  int make_pages_;
  int free_pages_;
  Mapping mapping_;
  mutable std::mutex mutex_;
};

// The NUMA node of a CPU; -1: unknown.
[[nodiscard]] int node_of_cpu(uint32_t cpu);

}  // namespace ktraced
