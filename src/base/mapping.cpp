// SPDX-License-Identifier: BSD-2-Clause
#include "base/mapping.h"

#include <sys/mman.h>

#include <cerrno>

namespace ktraced {

Result<Mapping> Mapping::map(int fd, size_t size, int protection, size_t offset) {
  void* address = ::mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED)
    return fail(ExitCode::os, "cannot map {} bytes: {}", size, errno_text(errno));
  return Mapping(address, size);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    unmap();
    address_ = std::exchange(other.address_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void Mapping::unmap() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace ktraced
