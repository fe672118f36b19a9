// SPDX-License-Identifier: BSD-2-Clause
// Resource limits (getrlimit(2)): errors for a lack of stack, memory or threads name the one to
// raise.
#pragma once

#include "base/error.h"

namespace ktraced {

// Fails with ExitCode::unavailable if the stack of a thread may be too small for `program`: beyond
// its end the kernel ends the process with SIGSEGV. Call it first, from a function that needs
// little stack.
[[nodiscard]] Result<> check_stack_limit(const char* program);

// Raises the soft limit of open files, usually 1024, to the hard limit, for this process and those
// that it starts from now on. For what needs a descriptor for each CPU or client.
void allow_many_descriptors();

// The error for std::bad_alloc. Where a limit can be the reason, the message names it, and the
// error has ExitCode::unavailable: it would be reached again. Otherwise it has ExitCode::os.
[[nodiscard]] Error out_of_memory();

// The current exception as an error: of ExitCode::software ("internal error: …"), or as
// out_of_memory() if there is no memory for an object or a thread; for a thread the message names
// the number of tasks as a reason too. Call it in a catch block only.
[[nodiscard]] Error unexpected_error();

}  // namespace ktraced
