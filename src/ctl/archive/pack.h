// SPDX-License-Identifier: BSD-2-Clause
// Packs a trace directory into an archive: tar, compressed with zstd.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "ctl/terminal/output_target.h"
#include "ctl/terminal/stop_signals.h"
#include "trace/directory/trace_directory.h"

namespace ktraced {

// Writes the files of the trace, below the directory `name`, to `target`; those of other programs
// beside them are left out. Returns the sum of their sizes in bytes. Fails as
// TraceDirectory::open_file(), with ExitCode::data if it has more packet files than a kernel has
// CPUs, and with ExitCode::io if something cannot be read or written, the trace is removed
// meanwhile or a signal stops it.
[[nodiscard]] Result<uint64_t> pack_trace(const TraceDirectory& trace, const std::string& name,
                                          OutputTarget& target, const StopSignals& signals);

}  // namespace ktraced
