// SPDX-License-Identifier: BSD-2-Clause
// How a system call ended, by the value at its exit.
#pragma once

#include <cstdint>

namespace ktraced {

// The system call number at the exit of a call that restores all registers: sigreturn.
inline constexpr int32_t kSigreturnNumber = -1;

// Is the value at the exit of this call its result? That of sigreturn belongs to the interrupted
// call, whose register it restores.
[[nodiscard]] constexpr bool has_own_result(int32_t nr) { return nr != kSigreturnNumber; }

// The error of a system call with the number `nr` at its exit, and the value `ret` there: a
// positive errno. 0: it did not fail.
[[nodiscard]] constexpr int32_t error_of_call(int32_t nr, int64_t ret) {
  constexpr int64_t kMaxErrno = 4095;
  const bool failed = has_own_result(nr) && ret < 0 && ret >= -kMaxErrno;
  return failed ? static_cast<int32_t>(-ret) : 0;
}

}  // namespace ktraced
