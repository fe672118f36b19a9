// SPDX-License-Identifier: BSD-2-Clause
// What is reported about the snapshots on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "daemon/output/trace_store.h"
#include "daemon/snapshots/snapshot_writer.h"
#include "trace/directory/manifest.h"

namespace ktraced {

// A snapshot, as listed.
struct SnapshotEntry {
  std::string name;
  std::filesystem::path path;
  uint64_t bytes = 0;
  bool kept = false;
  std::vector<std::string> incomplete_because;  // shortened; empty: it is complete
  // What its manifest says; nothing: that cannot be read.
  struct Content {
    std::string reason;  // shortened, as requested_by
    std::string requested_by;
    std::string boot_id;   // shortened
    std::string previous;  // as in the manifest; empty also if that one is not there any more
    uint64_t taken_realtime_ns = 0;
    uint64_t start_ns = 0;  // see Manifest
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    TraceWindow window;
    EventAccount total;
    uint64_t missed = 0;
    std::vector<ManifestSummary::Cpu> cpus;
  };
  std::optional<Content> content;
};

// Reads each manifest once: a finished trace does not change. Reading one can take seconds. When
// `stop` is requested, unknown manifests are not read.
class SnapshotList {
 public:
  explicit SnapshotList(std::stop_token stop = {}) : stop_(std::move(stop)) {}

  // The snapshots of the store, oldest first. A trace whose manifest cannot be read may be one: it
  // is listed as incomplete, with the reason. Fails as TraceStore::list().
  [[nodiscard]] Result<std::vector<SnapshotEntry>> entries(const TraceStore& store);
  struct Sum {
    size_t count = 0;
    uint64_t bytes = 0;
    size_t kept = 0;  // of the count
    // The one that was written last.
    struct Last {
      std::string name;
      uint64_t begin_ns = 0;  // of its window
      uint64_t end_ns = 0;
    };
    std::optional<Last> last;
  };
  // Calls `before_reading` if there are manifests to read, with a provisional sum. This counts
  // every trace that may be a snapshot.
  using BeforeReading = std::function<void(const Sum& sum)>;
  [[nodiscard]] Result<Sum> sum(const TraceStore& store, const BeforeReading& before_reading = {});

 private:
  struct Known {
    uint64_t written_ns = 0;
    std::optional<SnapshotEntry> entry;  // nothing: a recording
  };
  // The snapshots of the store, oldest first: all its traces that are no recordings.
  Result<std::vector<const SnapshotEntry*>> read(const TraceStore& store,
                                                 const BeforeReading& before_reading);
  // What is known of a trace; null if it must be read.
  [[nodiscard]] const Known* known(const StoredTrace& trace,
                                   const std::filesystem::path& path) const;
  void announce(const TraceStore& store, const std::vector<StoredTrace>& traces,
                const BeforeReading& before_reading) const;

  std::stop_token stop_;
  std::map<std::string, Known> known_;  // by path
};

// A snapshot in a store, whose manifest has been read.
struct StoredSnapshot {
  std::string name;
  ManifestSummary summary;
};

// The snapshot in the store that was taken at `end_ns` (CLOCK_BOOTTIME) of that boot. Skips damaged
// traces. Fails with ExitCode::io if one cannot be read now, so that it may be that snapshot.
[[nodiscard]] Result<std::optional<StoredSnapshot>> find_snapshot(const TraceStore& store,
                                                                  const std::string& boot_id,
                                                                  uint64_t end_ns);

// Both the snapshot with that name and summary, and the one that find_snapshot() found before it.
// Nothing: none was found, it is not in the store any more, or summary.previous is empty.
[[nodiscard]] std::optional<SnapshotPair> with_previous(
    const TraceStore& store, const std::string& name, const SnapshotSummary& summary,
    const std::optional<StoredSnapshot>& previous);

// Removes a snapshot, or an unreadable trace that may be one. Fails as TraceStore::remove(), and
// with ExitCode::usage for a recording or a kept snapshot.
Result<> remove_snapshot(const TraceStore& store, const std::string& name);

// Protects a snapshot, or a trace that may be one, from retention, or ends that. Does nothing if it
// is in that state. Fails as TraceStore::check_exists() and set_keep_mark(), and with
// ExitCode::usage for a recording.
Result<> keep_snapshot(const TraceStore& store, const std::string& name, bool kept);

}  // namespace ktraced
