// SPDX-License-Identifier: BSD-2-Clause
// Writes a frozen bank of the flight recorder into a trace directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/access/address_mask.h"
#include "daemon/capture/trace_config_history.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_recorder.h"
#include "kernel/symbols/kernel_names.h"
#include "kernel/symbols/symbols.h"
#include "trace/directory/manifest.h"
#include "trace/directory/trace_writer.h"
#include "trace/symbols/build_ids.h"

namespace ktraced {

// What to write, and where.
struct SnapshotJob {
  std::filesystem::path path;
  FlightRecorder::Frozen frozen;  // its rings must stay frozen until the job is done
  LostByCpu unrecorded;           // hits on CPUs that had no ring yet
  Manifest manifest;              // complete except for what the records contain
  KernelNames::History names;
  // Metadata records that are asked for in the thread that writes; null: none.
  std::function<std::vector<std::byte>()> commands = nullptr;
  // Calls add_user_code(), in that thread; null: nothing is found out.
  std::function<void(TraceWriter&, const RealStart&)> user_code = nullptr;
  TraceConfigHistory::KnownSince known_since;
  // Applied to the records; null: they keep their addresses. The rest of the job is masked already.
  std::shared_ptr<AddressMask> mask = nullptr;
  TraceWriter::WrittenTime written_time = nullptr;
};

// A snapshot and the one before it, counted as one.
struct SnapshotPair {
  std::filesystem::path previous;  // of the one before it
  std::string show;                // the command that shows both
  uint64_t records = 0;
  uint64_t begin_ns = 0;  // of the window of the one before; CLOCK_BOOTTIME
  uint64_t end_ns = 0;
  // What either of them lacks, behind its name, and what lies between them. Empty: nothing is
  // missing from begin_ns to end_ns.
  std::vector<std::string> incomplete_because;
};

// What has been written.
struct SnapshotSummary {
  uint64_t records = 0;
  uint64_t bytes = 0;    // of packets
  std::string previous;  // as in the manifest; empty: it is not there
  TraceWindow window;
  std::vector<std::string> incomplete_because;               // as in the manifest
  std::optional<SnapshotPair> with_previous = std::nullopt;  // set by with_previous()
};

// Returns when the trace has been synced to disk. Fails with ExitCode::io, and leaves nothing then.
// May run in any thread.
Result<SnapshotSummary> write_snapshot(const SnapshotJob& job, KernelSymbols& symbols);

}  // namespace ktraced
