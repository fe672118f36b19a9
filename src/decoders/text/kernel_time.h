// SPDX-License-Identifier: BSD-2-Clause
// Times in the format of the kernel's tracer.
#pragma once

#include <cstdint>

#include "decoders/text/text_buffer.h"

namespace ktraced {

// Rounded in the same way as by the kernel.
struct KernelTime {
  uint64_t seconds = 0;
  uint64_t microseconds = 0;
};

[[nodiscard]] constexpr KernelTime kernel_time(uint64_t ns) {
  constexpr uint64_t kMicrosecond = 1000, kPerSecond = 1000000;
  const uint64_t microseconds = (ns + kMicrosecond / 2) / kMicrosecond;
  return {microseconds / kPerSecond, microseconds % kPerSecond};
}

// "18440.883932"
inline void append_seconds(const KernelTime& time, TextBuffer& out) {
  out.append_decimal(time.seconds);
  out.append('.');
  out.append_padded(time.microseconds, 6);
}

}  // namespace ktraced
