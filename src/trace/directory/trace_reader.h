// SPDX-License-Identifier: BSD-2-Clause
// Reads a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "trace/directory/manifest.h"
#include "trace/directory/name_files.h"
#include "trace/directory/packet_file.h"
#include "trace/directory/time_window.h"
#include "trace/directory/trace_directory.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// A directory that TraceWriter wrote, on any machine, by this or an earlier version. Its manifest
// and names are in memory; its records are read from the PacketFiles. Move-only.
class TraceReader {
 public:
  // Fails with ExitCode::data, naming the file, if there is no valid manifest, and for an
  // unfinished trace unless `allow_unfinished`. Fails with no_permission if it may not be read.
  // Names that cannot be read become damage().
  static Result<TraceReader> open(const std::filesystem::path& directory,
                                  bool allow_unfinished = false);
  // A trace that was unpacked from an archive, where its directory has this name. Fails as open().
  static Result<TraceReader> open_unpacked(TraceDirectory trace, const std::filesystem::path& name,
                                           bool allow_unfinished);
  // The directory of a trace, without looking into it; fails as open().
  static Result<TraceDirectory> find(const std::filesystem::path& directory,
                                     bool allow_unfinished = false);
  // Fails with ExitCode::io if the directory of a trace that was found is not there any more: it
  // was removed, perhaps before all of it was read.
  static Result<> check_not_removed(const std::filesystem::path& path);

  // The path of the directory, or the name that open_unpacked() got.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const Manifest& manifest() const { return manifest_; }
  [[nodiscard]] const Schema& schema() const { return manifest_.schema; }
  [[nodiscard]] const NameTable& names() const { return names_; }
  [[nodiscard]] const SymbolMap& symbols() const { return symbols_; }
  // The files that processes had mapped, with their build ids, as far as the trace has them beside
  // its records.
  [[nodiscard]] const std::vector<MappedFile>& mapped_files() const { return mapped_files_; }
  // The functions in user stacks that processes had made, for find_jit_function().
  [[nodiscard]] const std::vector<JitFunction>& jit_functions() const { return jit_functions_; }
  // Its writer is still running, or was stopped.
  [[nodiscard]] bool unfinished() const { return unfinished_; }
  // The parts that could not be read, one sentence each.
  [[nodiscard]] const std::vector<Error>& damage() const { return damage_; }

  // No record is older or newer than these; ns, CLOCK_BOOTTIME. A CPU that has overwritten nothing
  // has recorded from begin_ns() on.
  [[nodiscard]] uint64_t begin_ns() const;
  [[nodiscard]] uint64_t end_ns() const;
  // No record of an unfinished trace is older or newer than this, as its packets say; ns,
  // CLOCK_BOOTTIME. Reads the headers of all packets. Begins after it ends if there are none.
  [[nodiscard]] TimeWindow packets_window();

  // Opens the files of all CPUs. Missing and surplus files become damage().
  std::vector<PacketFile> open_files();
  // Call this when `file` has been read to its end or to an invalid packet. Adds to damage() if the
  // file had fewer records than the manifest says. False if there is damage.
  bool check_end(const PacketFile& file, const Result<>& end);

 private:
  TraceReader(std::filesystem::path path, Manifest manifest, bool unfinished)
      : path_(std::move(path)), manifest_(std::move(manifest)), unfinished_(unfinished) {}
  void read_names(const TraceDirectory& trace);
  // The directory of the packets. Opens the trace again, because many may be read at a time.
  [[nodiscard]] Result<TraceDirectory> open_packets() const;
  // The CPUs that should have a file, and those of an unfinished trace that have one.
  std::set<uint32_t> cpus_to_read(const TraceDirectory& ctf);
  // Adds to damage() why `file` could not be read; only once for all files if the trace was removed
  // while it was read.
  void note(const std::filesystem::path& file, Error damage);
  // Adds to damage(), unless it was found before: the files may be read several times.
  void add_damage(Error damage);
  [[nodiscard]] const CpuAccount* account(uint32_t cpu) const;

  std::filesystem::path path_;
  std::optional<TraceDirectory> unpacked_;  // nothing: the trace is a directory
  Manifest manifest_;
  bool unfinished_;
  bool removed_ = false;
  NameTable names_ = NameTable::unbounded();
  SymbolMap symbols_;
  std::vector<MappedFile> mapped_files_;
  std::vector<JitFunction> jit_functions_;
  std::vector<Error> damage_;
};

}  // namespace ktraced
