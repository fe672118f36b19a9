// SPDX-License-Identifier: BSD-2-Clause
// How a system call ended, by the value at its exit.
#pragma once

#include <cstdint>

namespace ktraced {

// The system call number at the exit of a call that restores all registers, sigreturn, and of a
// call whose number a debugger has replaced by it so that the kernel skips the call.
inline constexpr int32_t kSigreturnNumber = -1;

// Is the value at the exit of a call with this number its result, whatever its beginning was? That
// of sigreturn belongs to the interrupted call, whose register it restores.
[[nodiscard]] constexpr bool has_own_result(int32_t nr) { return nr != kSigreturnNumber; }

// The error that the result of a system call stands for: a positive errno. 0: it did not fail.
[[nodiscard]] constexpr int32_t error_of_result(int64_t ret) {
  constexpr int64_t kMaxErrno = 4095;
  return ret < 0 && ret >= -kMaxErrno ? static_cast<int32_t>(-ret) : 0;
}

// The error of a system call of which only the exit is known, with the number `nr` and the value
// `ret`: a positive errno. 0: it did not fail, or that is not known.
[[nodiscard]] constexpr int32_t error_of_call(int32_t nr, int64_t ret) {
  return has_own_result(nr) ? error_of_result(ret) : 0;
}

}  // namespace ktraced
