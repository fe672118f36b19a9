// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/string_calls.h"

#include "schema/names.h"
#include "schema/string_arguments.h"

namespace ktraced {

void set_string_arguments(struct control& control) {
  for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
    for (int32_t nr = 0; nr < SYSCALL_MAX; ++nr)
      control.string_args[abi][nr] = string_arguments(abi, syscall_name(abi, nr));
}

}  // namespace ktraced
