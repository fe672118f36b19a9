// SPDX-License-Identifier: BSD-2-Clause
// System calls that do something to the thread that is in them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "schema/names.h"

namespace ktraced {

// What the kernel has for the number when a call that restores all registers returns: sigreturn.
inline constexpr int32_t kSigreturnNumber = -1;

// Calls that do not return.
[[nodiscard]] inline bool ends_thread(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  return name == "exit" || name == "exit_group";
}

// Calls that return twice: once in the caller, and once, with 0, in the thread or process that they
// made. Nothing else of a thread that makes others returns 0.
[[nodiscard]] inline bool makes_thread(uint32_t abi, int32_t nr) {
  const std::string_view name = syscall_name(abi, nr);
  return name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
}

// In a map of what threads do: execve has given thread `from` the number `to`, that of the first
// thread of its process, under which it returns.
template <class Map>
void pass_to_leader(Map& running, uint32_t from, uint32_t to) {
  if (from == to) return;
  auto call = running.extract(from);
  if (call.empty()) return;
  running.erase(to);
  call.key() = to;
  running.insert(std::move(call));
}

}  // namespace ktraced
