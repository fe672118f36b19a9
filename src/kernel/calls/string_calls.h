// SPDX-License-Identifier: BSD-2-Clause
// Which system calls have strings, for the programs.
#pragma once

#include "bpf/shared_state.h"

namespace ktraced {

// Writes the string arguments of all calls of all ABIs to where the programs read them.
void set_string_arguments(struct control& control);

}  // namespace ktraced
