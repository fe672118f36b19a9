// SPDX-License-Identifier: BSD-2-Clause
// Writes a trace directory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/partial_directory.h"
#include "trace/directory/manifest.h"
#include "trace/metadata/jit_code.h"
#include "trace/metadata/name_log.h"
#include "trace/packet/packet.h"
#include "trace/packet/stream_continuity.h"

namespace ktraced {

// A directory with manifest.json, the files of names, symbols.json and ctf/ (metadata and a file of
// packets for each CPU). Its name is `<path>.partial` until finish(), so a directory
// without that suffix is complete. A writer that is destroyed before finish() removes what it
// wrote. A killed process leaves a readable trace whose manifest says that it is unfinished.
class TraceWriter {
 public:
  // Is the address in the kernel's code, so that it needs a symbol?
  using IsCode = std::function<bool(uint64_t address)>;
  // The modification time of a manifest that is written now, ns of CLOCK_REALTIME. Null: the file
  // system's.
  using WrittenTime = std::function<uint64_t()>;

  // Fails with ExitCode::usage if `path` or `path`.partial exists, or if `path` is in a trace
  // directory.
  static Result<> check_free(const std::filesystem::path& path);
  // `schema` need not contain dynamic events that metadata records will define. `parent`: the
  // directory that `path` is in; without one, it is opened by that path. Fails as check_free(), or
  // with ExitCode::io.
  static Result<std::unique_ptr<TraceWriter>> create(const std::filesystem::path& path,
                                                     Schema schema, const TraceOrigin& origin,
                                                     IsCode is_code,
                                                     WrittenTime written_time = nullptr,
                                                     Fd parent = {});
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter() = default;

  // Appends an event packet to its CPU's file and counts its records. A trace is a separate stream:
  // its packet numbers and its count of discarded events start at 0. Fails with ExitCode::io, e.g.
  // when the disk is full; the packet is then not in the trace.
  Result<> write(const PacketView& packet);

  // Adds metadata records, one after another: names of tasks and caches, and definitions of dynamic
  // events, for readers without a daemon. An event's definition must be added before its records
  // are written.
  void add_names(std::span<const std::byte> records);
  // Adds the events that the schema lacks.
  void add_events(const Schema& schema);
  // Writes the names added so far, so that an unfinished trace can be read; otherwise finish()
  // writes them. Fails with ExitCode::io.
  Result<> write_names() const;
  // The files that the records say processes have mapped, by number; and what is found out about
  // them until finish().
  [[nodiscard]] const std::map<uint64_t, MappedFile>& mapped_files() const {
    return names_.files();
  }
  void add_file(MappedFile file) { names_.add(std::move(file)); }
  // The process of the last mapping of a file; 0: not known.
  [[nodiscard]] uint32_t process_of(uint64_t file) const {
    const auto found = file_processes_.find(file);
    return found == file_processes_.end() ? 0 : found->second;
  }
  // The code of processes in user stacks that is in no file; and what is found out about it.
  [[nodiscard]] const JitCode& jit_code() const { return jit_code_; }
  void add_jit_function(JitFunction function) { names_.add(std::move(function)); }
  // See NameLog::user_of().
  [[nodiscard]] std::optional<uint32_t> user_of(const ProcessId& process) const {
    return names_.user_of(process);
  }
  // See NameLog::last().
  [[nodiscard]] std::vector<std::byte> last_names() const { return names_.last(); }

  // Code addresses in the records, the first kMaxSymbols: symbols.json needs their symbols, as
  // add_symbols() makes them.
  [[nodiscard]] const std::set<uint64_t>& code_addresses() const { return code_addresses_; }
  // Accounts of the CPUs written so far; the caller completes them and puts them into the manifest.
  [[nodiscard]] std::vector<CpuAccount> accounts() const;
  // Calls `visit(cpu, event id, EventAccount)` for the events of each CPU.
  void for_each_account(auto&& visit) const {
    for (const auto& [cpu, file] : files_)
      for (size_t id = 0; id < file.events.size(); ++id) visit(cpu, id, file.events[id]);
  }
  // The sum of all accounts.
  [[nodiscard]] const EventAccount& total() const { return total_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }
  // Reasons for which the trace is incomplete although it was written: the disk has lost some of
  // it.
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

  // Reasons for which names are missing.
  [[nodiscard]] std::vector<std::string> name_problems() const { return names_.problems(); }

  // Adds to the manifest of a stream's trace the accounts and every reason for which it is
  // incomplete: problems(), gaps in the stream, lost events, and the missed hits in the manifest.
  void add_accounts(Manifest& manifest, const StreamContinuity& stream) const;

  // Writes the remaining files, syncs everything to disk and gives the directory its final name.
  // The manifest gets the schema of the events that its config or the records have, and whether all
  // command lines were read. Fails with
  // ExitCode::io; it can be repeated, but problems() may have become more.
  Result<> finish(const Manifest& manifest, const std::map<uint64_t, std::string>& symbols);
  // The directory of the trace until finish().
  [[nodiscard]] const std::filesystem::path& unfinished_path() const { return directory_.path(); }
  // Keeps the unfinished trace on disk, for readers that accept one; returns its path.
  std::filesystem::path keep_unfinished();

 private:
  struct CpuFile {
    Fd fd;
    CpuAccount account;
    std::vector<EventAccount> events;  // by event id
    uint64_t bytes = 0;
    uint64_t packets = 0;
    uint64_t discarded = 0;  // events, cumulative
  };

  TraceWriter(std::filesystem::path path, Schema schema, TraceOrigin origin, IsCode is_code,
              WrittenTime written_time, Fd parent);
  Result<> write_manifest(const Manifest& manifest) const;
  [[nodiscard]] std::filesystem::path cpu_path(uint32_t cpu) const;
  Result<> write_descriptions() const;
  void note_fields(const Event& event);
  [[nodiscard]] Schema schema_of_trace(const nlohmann::json& config) const;
  Result<CpuFile*> cpu_file(uint32_t cpu);
  Result<> append(CpuFile& file, const PacketHeader& header, std::span<const std::byte> body);
  void count(CpuFile& file, const PacketView& packet);
  void note_stacks(const PacketView& packet);
  void note_file(const RecordView& record);
  void note_stack(const RecordView& record);
  void note_addresses(const RecordView& record);
  void note_address(uint64_t address);
  Result<> sync();
  Result<> write_anchor(CpuFile& file, PacketHeader header);
  [[nodiscard]] size_t last_padding(const PacketView& packet) const;

  std::filesystem::path path_;
  PartialDirectory directory_;
  Schema schema_;
  TraceOrigin origin_;
  bool schema_grew_ = false;  // since it was written
  IsCode is_code_;
  WrittenTime written_time_;
  // Offsets of code addresses in the records of an event, from the schema.
  std::vector<std::vector<uint32_t>> address_offsets_;
  std::map<uint32_t, CpuFile> files_;
  NameLog names_;
  std::unordered_map<uint64_t, uint32_t> file_processes_;  // by number of the file
  JitCode jit_code_;
  std::set<uint64_t> code_addresses_;
  std::array<uint64_t, 4096> recent_addresses_{};  // already checked
  EventAccount total_;
  uint64_t bytes_ = 0;
  std::vector<std::string> problems_;
};

}  // namespace ktraced
