// SPDX-License-Identifier: BSD-2-Clause
// Distinguishes kernel code addresses from data addresses, and both from their pseudonyms.
#pragma once

#include <cstdint>

namespace ktraced {

// On x86-64 the kernel's own code, its modules and compiled BPF programs are above this address,
// and all allocated data is below it.
inline constexpr uint64_t kKernelTextStart = 0xffffffff80000000;

// The first byte of a pseudonym, which stands for a kernel address that a reader may not see
// (docs/protocol.md). No address of x86-64 begins with one of these, also with five levels of page
// tables.
enum class PseudonymOf : uint8_t {
  code = 0xc0,    // has a symbol
  data = 0xda,    // equal in all events of a daemon
  opaque = 0xde,  // equal in one field of one event only
};

// True for an address of code, and for the pseudonym of one: both have symbols.
[[nodiscard]] constexpr bool is_kernel_text(uint64_t address) {
  return address >= kKernelTextStart || address >> 56 == static_cast<uint64_t>(PseudonymOf::code);
}

}  // namespace ktraced
