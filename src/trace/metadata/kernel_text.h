// SPDX-License-Identifier: BSD-2-Clause
// Distinguishes kernel code addresses from data addresses.
#pragma once

#include <cstdint>

namespace ktraced {

// On x86-64 the kernel's own code, its modules and compiled BPF programs are above this address,
// and all allocated data is below it.
inline constexpr uint64_t kKernelTextStart = 0xffffffff80000000;

[[nodiscard]] constexpr bool is_kernel_text(uint64_t address) {
  return address >= kKernelTextStart;
}

}  // namespace ktraced
