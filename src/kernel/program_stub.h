// SPDX-License-Identifier: BSD-2-Clause
// Programs that do nothing but go on in another one.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The kernel counts the hits that it skips by program, so each event that is to be told its own
// has a program of its own: this one, of a few instructions, which tail-calls the program at
// `index` of the map `programs` (BPF_MAP_TYPE_PROG_ARRAY). It takes the verifier microseconds,
// where a copy of the program itself took tens of milliseconds. Of the type of tracepoint
// programs. Fails with ExitCode::unavailable.
[[nodiscard]] Result<Fd> load_tracepoint_stub(int programs, int index);

}  // namespace ktraced
