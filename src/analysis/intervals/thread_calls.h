// SPDX-License-Identifier: BSD-2-Clause
// System calls that end, create or rename threads.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "schema/names.h"

namespace ktraced {

// The system call number at the exit of a call that restores all registers: sigreturn.
inline constexpr int32_t kSigreturnNumber = -1;

// Calls that do not return.
[[nodiscard]] inline bool ends_thread(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  return name == "exit" || name == "exit_group";
}

// Calls that return twice: in the caller, and with 0 in the new thread or process. In the caller
// they never return 0.
[[nodiscard]] inline bool makes_thread(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  return name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
}

// For a map of thread states: execve has given thread `from` the id `to`, that of its main thread,
// under which it returns.
template <class Map>
void move_to_leader(Map& running, uint32_t from, uint32_t to) {
  if (from == to) return;
  auto call = running.extract(from);
  if (call.empty()) return;
  running.erase(to);
  call.key() = to;
  running.insert(std::move(call));
}

}  // namespace ktraced
