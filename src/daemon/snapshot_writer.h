// SPDX-License-Identifier: BSD-2-Clause
// Writes a frozen bank of the flight recorder into a trace directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/trace_config_history.h"
#include "kernel/counters.h"
#include "kernel/flight_recorder.h"
#include "kernel/symbols.h"
#include "trace/manifest.h"

namespace ktraced {

// What is to be written, and where.
struct SnapshotJob {
  std::filesystem::path path;
  FlightRecorder::Frozen frozen;  // its rings must stay frozen until the job is done
  LostByCpu unrecorded;           // hits on CPUs that had no ring yet
  Manifest manifest;              // all but what the records say
  std::vector<std::byte> names;   // name records
  uint64_t names_since = 0;       // of names that changed before, some are not known; ns
  TraceConfigHistory::KnownSince known_since;
};

// What has been written.
struct SnapshotSummary {
  uint64_t records = 0;
  uint64_t bytes = 0;                           // of packets
  std::vector<std::string> incomplete_because;  // as in the manifest
};

// Returns when the trace is safe on disk. Fails with ExitCode::io, and leaves nothing then. May
// run on any thread.
Result<SnapshotSummary> write_snapshot(const SnapshotJob& job, KernelSymbols& symbols);

}  // namespace ktraced
