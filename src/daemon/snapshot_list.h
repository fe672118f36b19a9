// SPDX-License-Identifier: BSD-2-Clause
// What is told of the snapshots on disk.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/trace_store.h"

namespace ktraced {

// Reads manifests, each once: a finished trace does not change.
class SnapshotList {
 public:
  // One object for each snapshot of the store, oldest first: what its manifest says of window,
  // counts and completeness, with an account of each CPU. A trace whose manifest cannot be
  // read may be one: it is listed as incomplete, with the reason.
  [[nodiscard]] nlohmann::json entries(const TraceStore& store);
  struct Sum {
    size_t count = 0;
    uint64_t bytes = 0;
  };
  [[nodiscard]] Sum sum(const TraceStore& store);

 private:
  struct Known {
    uint64_t written_ns = 0;
    nlohmann::json entry;  // null: of a recording
  };
  // Of the traces of the store that are no recordings, oldest first.
  std::vector<const nlohmann::json*> read(const TraceStore& store);

  std::map<std::string, Known> known_;  // by path
};

// The name of the snapshot in the store that was taken at `end_ns` (CLOCK_BOOTTIME) of that boot.
[[nodiscard]] std::optional<std::string> find_snapshot(const TraceStore& store,
                                                       const std::string& boot_id, uint64_t end_ns);

// Removes a snapshot, or what cannot be read and may be one. Fails as TraceStore::remove(), and
// with ExitCode::usage for a recording.
Result<> remove_snapshot(const TraceStore& store, const std::string& name);

}  // namespace ktraced
