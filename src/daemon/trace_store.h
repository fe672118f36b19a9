// SPDX-License-Identifier: BSD-2-Clause
// The trace directories that the daemon keeps in one place: names, limits, removal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/own_directory.h"

namespace ktraced {

// Fails with ExitCode::usage, saying why, unless `name` can be the name of a trace directory.
[[nodiscard]] Result<> check_trace_name(std::string_view name);

// "PREFIX-20260731-142233-123": the time in UTC, down to milliseconds; or, if that is `taken`, the
// next millisecond that is not. `realtime_ns` as of CLOCK_REALTIME.
[[nodiscard]] std::string trace_name(std::string_view prefix, uint64_t realtime_ns,
                                     const std::function<bool(const std::string&)>& taken);

// A trace directory.
struct StoredTrace {
  std::string name;
  uint64_t bytes = 0;       // of all its files
  uint64_t written_ns = 0;  // CLOCK_REALTIME, of its manifest
};

// Of all files of a trace, whole or unfinished.
[[nodiscard]] uint64_t bytes_of_trace(const std::filesystem::path& trace);

// How much is kept.
struct Retention {
  uint64_t max_count = 0;
  uint64_t max_bytes = 0;
};

// Names of the traces that have to go, oldest first; never the one called `keep`.
[[nodiscard]] std::vector<std::string> superfluous(std::vector<StoredTrace> traces,
                                                   const Retention& retention,
                                                   std::string_view keep);

// One directory of traces. What is not a trace is left alone. May be used on several threads, as
// far as they do not deal with the same trace.
class TraceStore {
 public:
  explicit TraceStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] std::filesystem::path path_of(std::string_view name) const {
    return directory_ / name;
  }
  // Is there something with this name, whole or unfinished?
  [[nodiscard]] bool taken(const std::string& name) const;

  // Makes the directory if it is missing, and checks that it can be written to. Fails with
  // ExitCode::io.
  Result<> make_directory() const;
  // Has it room for so many bytes, and a trace's small files? Fails with ExitCode::io.
  Result<> check_room(uint64_t bytes) const;

  // The whole traces whose names begin with `prefix`, oldest first.
  [[nodiscard]] std::vector<StoredTrace> list(std::string_view prefix = "") const;

  // Fails with ExitCode::usage if there is no such trace, with ExitCode::io if it cannot be
  // removed.
  Result<> remove(const std::string& name) const;
  // Removes what is too much of the snapshots, oldest first, but never the one called `keep`.
  // Other traces neither count nor go. Returns the names.
  std::vector<std::string> enforce(const Retention& retention, std::string_view keep) const;
  // Makes the directory, and keeps other daemons from claiming it while this object lives. Fails
  // with ExitCode::unavailable if one has, with no_permission if others may write to it, with io
  // if it cannot be used. To be called again before each use: the directory may have been removed.
  Result<> claim();
  // Removes what a daemon that is gone was about to remove.
  void finish_removals() const;
  // The unfinished traces whose names begin with `prefix`, those being written among them; named
  // as their directories are, oldest first.
  [[nodiscard]] std::vector<StoredTrace> list_unfinished(std::string_view prefix) const;
  // Removes a trace, whole or unfinished, by the name of its directory. Fails as remove().
  Result<> remove_any(const std::string& name) const;

 private:
  std::filesystem::path directory_;
  DirectoryLock lock_;
};

}  // namespace ktraced
