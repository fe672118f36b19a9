// SPDX-License-Identifier: BSD-2-Clause
// Owner of an area of the arena.
#pragma once

#include <cstdint>
#include <utility>

#include "kernel/arena/arena.h"

namespace ktraced {

// Move-only; frees the area it owns, to which no program may write any more then.
class ArenaArea {
 public:
  ArenaArea() = default;
  // `arena` must outlive this.
  ArenaArea(Arena& arena, uint32_t offset) : arena_(&arena), offset_(offset) {}
  ArenaArea(ArenaArea&& other) noexcept
      : arena_(std::exchange(other.arena_, nullptr)), offset_(std::exchange(other.offset_, 0)) {}
  ArenaArea& operator=(ArenaArea&& other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(offset_, other.offset_);
    return *this;
  }
  ArenaArea(const ArenaArea&) = delete;
  ArenaArea& operator=(const ArenaArea&) = delete;
  ~ArenaArea() {
    if (arena_ != nullptr) arena_->free(offset_);
  }

  // 0: it owns none.
  [[nodiscard]] uint32_t offset() const { return offset_; }
  // The area outlives this.
  void leave() { arena_ = nullptr; }

 private:
  Arena* arena_ = nullptr;
  uint32_t offset_ = 0;
};

}  // namespace ktraced
