// SPDX-License-Identifier: BSD-2-Clause
// Which arguments of system calls are strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "bpf/shared_state.h"

namespace ktraced {

// The arguments of a call that are strings, as enum string_args; 0: none, or not known. `name`: as
// in the table of the ABI (a syscall_abi_t). The strings of a call that gets its arguments in
// memory, like socketcall, are not known.
[[nodiscard]] uint8_t string_arguments(uint32_t abi, std::string_view name);

}  // namespace ktraced
