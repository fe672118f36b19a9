// SPDX-License-Identifier: BSD-2-Clause
// Which addresses are code of the kernel.
#pragma once

#include <cstdint>

namespace ktraced {

// On x86-64 the kernel's own code, its modules and compiled BPF programs lie above, all data
// that is allocated lies below.
inline constexpr uint64_t kKernelTextStart = 0xffffffff80000000;

[[nodiscard]] constexpr bool is_kernel_text(uint64_t address) {
  return address >= kKernelTextStart;
}

}  // namespace ktraced
