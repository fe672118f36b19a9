// SPDX-License-Identifier: BSD-2-Clause
// Writes a trace directory.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "trace/manifest.h"
#include "trace/name_log.h"
#include "trace/packet.h"

namespace ktraced {

// A directory with manifest.json, tasks.json, caches.json, symbols.json and ctf/ (metadata and
// a file of packets for each CPU). It is called `<path>.partial` until finish(), so one
// without that suffix is whole. A writer that is destroyed unfinished removes what it wrote;
// what one leaves that is killed says of itself that it is unfinished, and can be read.
class TraceWriter {
 public:
  // Says whether an address is in the kernel's code, and so worth a symbol.
  using IsCode = std::function<bool(uint64_t address)>;

  // Fails with ExitCode::usage if there is something at `path` or `path`.partial already.
  static Result<> check_free(const std::filesystem::path& path);
  // `schema` need not have the dynamic events yet that are told by names. Fails as check_free(),
  // or with ExitCode::io.
  static Result<std::unique_ptr<TraceWriter>> create(const std::filesystem::path& path,
                                                     Schema schema, const TraceOrigin& origin,
                                                     IsCode is_code);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  // Appends an event packet to its CPU's file and counts what is in it. Packets are numbered
  // anew, and the count of discarded events begins at 0: a trace is a stream of its own. Fails
  // with ExitCode::io, e.g. when the disk is full; the packet is then not in the trace.
  Result<> write(const PacketView& packet);

  // Names of tasks and caches, and dynamic events (name records, one after another) for readers
  // without a daemon. Later ones add to earlier ones. An event must be told before its records
  // are written.
  void add_names(std::span<const std::byte> records);
  // Adds the events that the schema does not have yet.
  void add_events(const Schema& schema);
  // Writes those added so far, which otherwise finish() does: for who has to read an unfinished
  // trace. Fails with ExitCode::io.
  Result<> write_names() const;
  // See NameLog::last().
  [[nodiscard]] std::vector<std::byte> last_names() const { return names_.last(); }

  // Code addresses that the records hold: their symbols are wanted in symbols.json.
  [[nodiscard]] const std::set<uint64_t>& code_addresses() const { return code_addresses_; }
  // Accounts of the CPUs written so far, to be completed and put into the manifest.
  [[nodiscard]] std::vector<CpuAccount> accounts() const;
  // The same in all.
  [[nodiscard]] const EventAccount& total() const { return total_; }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  // Writes what is missing, makes all of it safe on disk and gives the directory its name. The
  // manifest gets the schema that belongs to the records. Fails with ExitCode::io.
  Result<> finish(const Manifest& manifest, const std::map<uint64_t, std::string>& symbols);
  // Where an unfinished trace is.
  [[nodiscard]] const std::filesystem::path& unfinished_path() const { return partial_; }
  // Leaves an unfinished trace where it is, for a reader who takes what there is; returns where.
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

  TraceWriter(std::filesystem::path path, Schema schema, TraceOrigin origin, IsCode is_code);
  [[nodiscard]] std::filesystem::path cpu_path(uint32_t cpu) const;
  Result<> write_file(const std::filesystem::path& name, std::string_view text) const;
  Result<> write_descriptions() const;
  void note_fields(const Event& event);
  [[nodiscard]] Schema schema_of_records() const;
  Result<CpuFile*> cpu_file(uint32_t cpu);
  Result<> append(CpuFile& file, const PacketHeader& header, std::span<const std::byte> body);
  void count(CpuFile& file, const PacketView& packet);
  void note_addresses(const RecordView& record);
  Result<> write_anchor(CpuFile& file, PacketHeader header);
  [[nodiscard]] size_t last_padding(const PacketView& packet) const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  Schema schema_;
  TraceOrigin origin_;
  bool schema_grew_ = false;  // since it was written
  IsCode is_code_;
  // Offsets of code addresses in the records of an event, from the schema.
  std::vector<std::vector<uint32_t>> address_offsets_;
  std::map<uint32_t, CpuFile> files_;
  NameLog names_;
  std::set<uint64_t> code_addresses_;
  std::array<uint64_t, 4096> recent_addresses_{};  // looked at already
  EventAccount total_;
  uint64_t bytes_ = 0;
  bool finished_ = false;
};

}  // namespace ktraced
