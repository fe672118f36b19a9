// SPDX-License-Identifier: BSD-2-Clause
// Owner of a memory mapping of a file descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace ktraced {

// Move-only; unmaps what it owns.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { unmap(); }

  // Maps the pages that have `size` bytes of `fd` from `offset` on, shared. `protection` as for
  // mmap(2). Fails with ExitCode::os, or as out_of_memory().
  static Result<Mapping> map(int fd, size_t size, int protection, size_t offset = 0);
  // Maps the pages that have the first `size` bytes of `fd` at an address where nothing may be,
  // shared. Fails with ExitCode::os, or as out_of_memory().
  static Result<Mapping> map_at(uintptr_t address, int fd, size_t size, int protection);

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(address_); }
  // In bytes: a multiple of the page size.
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] explicit operator bool() const { return address_ != nullptr; }

 private:
  Mapping(void* address, size_t size) : address_(address), size_(size) {}
  void unmap();

  void* address_ = nullptr;
  size_t size_ = 0;
};

}  // namespace ktraced
