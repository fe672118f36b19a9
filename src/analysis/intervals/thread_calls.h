// SPDX-License-Identifier: BSD-2-Clause
// System calls that end or create threads, or restore their registers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "analysis/coverage/call_result.h"
#include "schema/names.h"

namespace ktraced {

// The number of the call that restores all registers. 32-bit programs have two of them, so it is
// not known which.
[[nodiscard]] inline int32_t sigreturn_of(uint32_t abi) {
  constexpr uint32_t kIa32 = 1;
  if (abi == kIa32) return kSigreturnNumber;
  return syscall_number(abi, "rt_sigreturn").value_or(kSigreturnNumber);
}

enum class CallKind : uint8_t {
  unread,
  ordinary,
  ends_thread,   // does not return
  makes_thread,  // returns twice: in the caller, never with 0, and with 0 in the new thread
  sigreturn,     // restores all registers
};

// The kinds of system calls, by their names, each of which is looked up once.
class CallKinds {
 public:
  [[nodiscard]] CallKind of(uint32_t abi, int32_t nr) {
    if (abi >= kAbis || nr < 0 || static_cast<uint32_t>(nr) >= kNumbers) return by_name(abi, nr);
    CallKind& kind = kinds_[abi * kNumbers + static_cast<uint32_t>(nr)];
    if (kind == CallKind::unread) kind = by_name(abi, nr);
    return kind;
  }

 private:
  static constexpr uint32_t kAbis = 4, kNumbers = 512;

  static CallKind by_name(uint32_t abi, int32_t nr) {
    const std::string_view name = syscall_name(abi, nr);
    if (name == "exit" || name == "exit_group") return CallKind::ends_thread;
    if (name == "clone" || name == "clone3" || name == "fork" || name == "vfork")
      return CallKind::makes_thread;
    if (name == "rt_sigreturn" || name == "sigreturn") return CallKind::sigreturn;
    return CallKind::ordinary;
  }

  std::array<CallKind, size_t{kAbis} * kNumbers> kinds_{};
};

}  // namespace ktraced
