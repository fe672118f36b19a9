// SPDX-License-Identifier: BSD-2-Clause
// Reads a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "trace/manifest.h"
#include "trace/name_files.h"
#include "trace/name_table.h"
#include "trace/packet_file.h"
#include "trace/trace_directory.h"

namespace ktraced {

// A directory that TraceWriter wrote, on any machine, by this or an earlier version. Its
// manifest and names are in memory, its records are not: they come from the PacketFiles.
// Move-only.
class TraceReader {
 public:
  // Fails with ExitCode::data, naming the file, if there is no manifest that can be
  // understood, and for an unfinished trace unless `allow_unfinished`; with no_permission where
  // it may not be read. Names that cannot be read are damage().
  static Result<TraceReader> open(const std::filesystem::path& directory,
                                  bool allow_unfinished = false);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const Schema& schema() const { return manifest_.schema; }
  [[nodiscard]] const NameTable& names() const { return names_; }
  [[nodiscard]] const SymbolMap& symbols() const { return symbols_; }
  // Its writer is still at work, or was stopped.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  // What could not be read, each as one sentence.
  [[nodiscard]] const std::vector<Error>& damage() const { return damage_; }

  // No record is older, or younger; ns, CLOCK_BOOTTIME.
  [[nodiscard]] uint64_t begin_ns() const;
  [[nodiscard]] uint64_t end_ns() const;

  // Opens the files of all CPUs. Those that are missing, and those too many, become damage().
  std::vector<PacketFile> open_files();
  // Is what `file`, read to its end or to where it is not good, has given all that the
  // manifest says it holds? Adds to damage() if not.
  void check_end(const PacketFile& file, const Result<>& end);

 private:
  TraceReader(std::filesystem::path path, Manifest manifest, bool unfinished)
      : path_(std::move(path)), manifest_(std::move(manifest)), unfinished_(unfinished) {}
  void read_names(const TraceDirectory& trace);
  // The CPUs that should have a file, and those of an unfinished trace that have one.
  std::set<uint32_t> cpus_to_read(const std::filesystem::path& ctf);
  // Adds to damage() why `file` could not be read; once for all files if the trace has been
  // removed in the meantime.
  void note(const std::filesystem::path& file, Error damage);
  [[nodiscard]] const CpuAccount* account(uint32_t cpu) const;

  std::filesystem::path path_;
  Manifest manifest_;
  bool unfinished_;
  bool removed_ = false;
  NameTable names_ = NameTable::unbounded();
  SymbolMap symbols_;
  std::vector<Error> damage_;
};

}  // namespace ktraced
