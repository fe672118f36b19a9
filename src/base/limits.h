// SPDX-License-Identifier: BSD-2-Clause
// Resource limits of this process that are too low (getrlimit(2)).
#pragma once

#include "base/error.h"

namespace ktraced {

// Fails with ExitCode::unavailable if the stack of a thread may be too small for `program`: beyond
// its end the kernel ends the process with SIGSEGV. Call it first, from a function that needs
// little stack.
[[nodiscard]] Result<> check_stack_limit(const char* program);

// The error for std::bad_alloc. Where a limit can be the reason, the message names it, and the
// error has ExitCode::unavailable: it would be reached again. Otherwise it has ExitCode::os.
[[nodiscard]] Error out_of_memory();

}  // namespace ktraced
