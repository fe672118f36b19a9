// SPDX-License-Identifier: BSD-2-Clause
#include "base/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/limits.h"

namespace ktraced {
namespace {

std::unexpected<Error> not_mapped(size_t size, const std::string& where) {
  const Error why = errno == ENOMEM ? out_of_memory() : Error{ExitCode::os, errno_text(errno)};
  return fail(why.code, "cannot map {} bytes{}: {}", size, where, why.message);
}

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

Result<Mapping> Mapping::map(int fd, size_t size, int protection, size_t offset) {
  size = whole_pages(size);
  void* address = ::mmap(nullptr, size, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (address == MAP_FAILED) return not_mapped(size, "");
  return Mapping(address, size);
}

Result<Mapping> Mapping::map_at(uintptr_t address, int fd, size_t size, int protection) {
  size = whole_pages(size);
  // A fixed address is what this is about.
  void* requested = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  void* got = ::mmap(requested, size, protection, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  if (got == MAP_FAILED) return not_mapped(size, fmt::format(" at {}", requested));
  return Mapping(got, size);
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
