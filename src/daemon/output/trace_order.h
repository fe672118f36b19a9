// SPDX-License-Identifier: BSD-2-Clause
// The order of the traces of a directory: that of the modification times of their manifests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "trace/directory/trace_writer.h"

namespace ktraced {

// Nanoseconds of CLOCK_REALTIME.
using RealtimeClock = std::function<uint64_t()>;
[[nodiscard]] inline RealtimeClock system_realtime() {
  return [] { return clock_ns(CLOCK_REALTIME); };
}

// When the manifest of a trace, whole or unfinished, was written: ns of CLOCK_REALTIME; 0 if it has
// none.
[[nodiscard]] uint64_t written_ns(const std::filesystem::path& trace);

// The time for the manifest of a trace that is begun in `directory` now: the clock's, but later
// than those of all traces that are there. So traces stay in order when the clock is set back.
// Traces of other users do not count: they could have any time.
[[nodiscard]] TraceWriter::WrittenTime written_time_in(const std::filesystem::path& directory,
                                                       RealtimeClock clock);

}  // namespace ktraced
