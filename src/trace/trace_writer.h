// Writes a trace directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "trace/manifest.h"
#include "trace/packet.h"

namespace ktraced {

// A directory with manifest.json, tasks.json, caches.json, symbols.json and ctf/ (metadata and
// a file of packets for each CPU). It is called `<path>.partial` until finish(), so one
// without that suffix is whole. A writer that is destroyed unfinished removes what it wrote.
class TraceWriter {
 public:
  // Says whether an address is in the kernel's code, and so worth a symbol.
  using IsCode = std::function<bool(uint64_t address)>;

  // Fails with ExitCode::io, or ExitCode::usage if `path` exists already.
  static Result<std::unique_ptr<TraceWriter>> create(const std::filesystem::path& path,
                                                     const Schema& schema,
                                                     const TraceOrigin& origin, IsCode is_code);
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  ~TraceWriter();

  // Appends an event packet to its CPU's file and counts what is in it. Fails with
  // ExitCode::io, e.g. when the disk is full; the writer is then of no more use.
  Result<> write(const PacketView& packet);

  // Names of tasks and caches (name records, one after another) for readers without a daemon.
  // Later ones add to earlier ones.
  void add_names(std::span<const std::byte> records);

  // Code addresses that the records hold: their symbols are wanted in symbols.json.
  [[nodiscard]] const std::set<uint64_t>& code_addresses() const { return code_addresses_; }
  // Accounts of the CPUs written so far, to be completed and put into the manifest.
  [[nodiscard]] std::vector<CpuAccount> accounts() const;
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

  // Writes what is missing, makes all of it safe on disk and gives the directory its name.
  // Fails with ExitCode::io.
  Result<> finish(const Manifest& manifest, const std::map<uint64_t, std::string>& symbols);

 private:
  struct CpuFile {
    Fd fd;
    CpuAccount account;
    std::map<uint16_t, EventAccount> events;
  };

  TraceWriter(std::filesystem::path path, const Schema& schema, IsCode is_code);
  Result<> write_file(const std::filesystem::path& name, std::string_view text) const;
  Result<CpuFile*> cpu_file(uint32_t cpu);
  size_t count(CpuFile& file, const PacketView& packet);
  [[nodiscard]] nlohmann::json tasks_json() const;
  [[nodiscard]] nlohmann::json caches_json() const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  const Schema& schema_;
  IsCode is_code_;
  // Offsets of code addresses in the records of an event, from the schema.
  std::map<uint16_t, std::vector<uint32_t>> address_offsets_;
  std::map<uint32_t, CpuFile> files_;
  std::vector<std::byte> names_;
  std::set<uint64_t> code_addresses_;
  uint64_t bytes_ = 0;
  bool finished_ = false;
};

}  // namespace ktraced
