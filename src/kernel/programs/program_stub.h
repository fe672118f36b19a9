// SPDX-License-Identifier: BSD-2-Clause
// Stub programs that only tail-call another program.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The kernel counts missed hits per program, so each event with its own count needs its own
// program. This stub of a few instructions tail-calls the program at `index` of the map `programs`
// (BPF_MAP_TYPE_PROG_ARRAY). Verifying it takes microseconds; a copy of the program itself took
// tens of milliseconds. It is a tracepoint program. Fails with ExitCode::unavailable.
[[nodiscard]] Result<Fd> load_tracepoint_stub(int programs, int index);

}  // namespace ktraced
