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
#include "base/files/own_directory.h"

namespace ktraced {

// Fails with ExitCode::usage and the reason if `name` is not valid for a trace directory.
[[nodiscard]] Result<> check_trace_name(std::string_view name);

// "PREFIX-20260731-142233-123": the time in UTC in milliseconds. If that name is `taken`, the next
// free millisecond is used. `realtime_ns` is CLOCK_REALTIME.
[[nodiscard]] std::string trace_name(std::string_view prefix, uint64_t realtime_ns,
                                     const std::function<bool(const std::string&)>& taken);

// A trace directory.
struct StoredTrace {
  std::string name;
  uint64_t bytes = 0;            // of all its files
  uint64_t written_ns = 0;       // of its manifest: see written_time_in()
  bool kept = false;             // has the mark, or it cannot be determined
  bool has_other_files = false;  // some that no trace has: it cannot be removed
};

// The size of all files of a trace, finished or not, in bytes.
[[nodiscard]] uint64_t bytes_of_trace(const std::filesystem::path& trace);

// One directory of traces. Everything else in it is left alone. May be used in several threads, if
// they do not use the same trace.
class TraceStore {
 public:
  explicit TraceStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }
  [[nodiscard]] std::filesystem::path path_of(std::string_view name) const {
    return directory_ / name;
  }
  // True if this name exists, as a finished or unfinished trace.
  [[nodiscard]] bool taken(const std::string& name) const;

  // Checks the free space for `bytes` and a trace's small files. Fails with ExitCode::io.
  Result<> check_room(uint64_t bytes) const;

  // Checks that the process can open that many files more. Fails with ExitCode::io.
  [[nodiscard]] Result<> check_descriptors(size_t count) const;

  // The whole traces whose names begin with `prefix`, oldest first; none if the directory is
  // missing. Fails with ExitCode::io or no_permission if it cannot be read.
  [[nodiscard]] Result<std::vector<StoredTrace>> list(std::string_view prefix = "") const;

  // Fails with ExitCode::usage if the name is not valid, or if there is no such whole trace.
  [[nodiscard]] Result<> check_exists(const std::string& name) const;
  // Removes a trace. Fails as check_exists(), with ExitCode::io if the trace cannot be removed, or
  // with no_permission if a link of another user leads there.
  Result<> remove(const std::string& name) const;
  // Removes a trace that list() has found, whatever its name. Fails if it cannot be removed, as
  // remove().
  Result<> remove_listed(const std::string& name) const;
  // Creates the directory, and keeps other daemons from claiming it while this object exists. Fails
  // with ExitCode::unavailable if another daemon has claimed it, with no_permission if others may
  // write to it or a link of another user leads there, with io if it cannot be used. Call it again
  // before each use: the directory may have been removed.
  Result<> claim();
  // Completes the removals that an earlier daemon had begun.
  void finish_removals() const;
  // The unfinished traces whose names begin with `prefix`, those being written among them; named
  // as their directories are, oldest first. Fails as list().
  [[nodiscard]] Result<std::vector<StoredTrace>> list_unfinished(std::string_view prefix) const;
  // Removes a trace, whole or unfinished, by the name of its directory. Fails as remove().
  Result<> remove_any(const std::string& name) const;

 private:
  [[nodiscard]] std::unexpected<Error> unknown_snapshot(const std::string& name) const;
  std::filesystem::path directory_;
  DirectoryLock lock_;
};

}  // namespace ktraced
