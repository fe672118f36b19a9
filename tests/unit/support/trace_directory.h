// SPDX-License-Identifier: BSD-2-Clause
// Trace directories for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "trace/directory/trace_writer.h"
#include "unit/support/packets.h"

namespace ktraced::test {

// Removed with its content at the end of a test.
class TempDirectory {
 public:
  TempDirectory() {
    std::string name = std::filesystem::temp_directory_path() / "ktraced_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void write_file(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::remove(path);  // a file that is truncated is flushed when closed, which is slow
  std::ofstream(path, std::ios::binary) << text;
}

inline TraceOrigin test_origin() {
  return {.uuid = {0xa1, 0xb2, 0xc3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
          .host = "test-host",
          .kernel = "6.18.44",
          .clock_offset_ns = 1'700'000'000'123'456'789,
          .boot_id = "c01d5e45-0000-4000-8000-000000000001"};
}

// The content of a trace.
struct TraceSpec {
  Schema schema;
  std::vector<PacketSpec> packets;  // in the order they are written
  std::vector<Bytes> names;
  std::map<uint64_t, std::string> symbols;
  TraceOrigin origin = test_origin();
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  std::vector<MappedFile> files = {};  // what is known of them beside the packets
  std::vector<JitFunction> jit_functions = {};
};

// The packet in the form a writer takes.
inline Bytes packet_of(const PacketSpec& spec, const TraceOrigin& origin) {
  Bytes bytes = make_packet(spec);
  std::memcpy(bytes.data() + offsetof(PacketHeader, uuid), origin.uuid.data(), origin.uuid.size());
  return bytes;
}

inline void check(const Result<>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

// A writer with the whole content, not yet finished.
inline std::unique_ptr<TraceWriter> begin_trace(const std::filesystem::path& path,
                                                const TraceSpec& spec) {
  auto writer = TraceWriter::create(path, spec.schema, spec.origin,
                                    [](uint64_t address) { return address >> 63 != 0; });
  if (!writer) throw std::runtime_error(writer.error().message);
  for (const PacketSpec& packet : spec.packets)
    check((*writer)->write(*PacketView::parse(packet_of(packet, spec.origin))));
  for (const Bytes& name : spec.names) (*writer)->add_names(name);
  for (const MappedFile& file : spec.files) (*writer)->add_file(file);
  for (const JitFunction& function : spec.jit_functions) (*writer)->add_jit_function(function);
  return std::move(*writer);
}

inline Manifest manifest_of(const TraceWriter& writer, const TraceSpec& spec) {
  Manifest manifest;
  manifest.kind = TraceKind::recording;
  manifest.name = "test";
  manifest.reason = "a test";
  manifest.requested_by = "pid 1 (uid 0)";
  manifest.origin = spec.origin;
  manifest.begin_ns = spec.begin_ns;
  manifest.end_ns = spec.end_ns;
  manifest.cpus = writer.accounts();
  manifest.schema = spec.schema;
  return manifest;
}

inline void write_trace(const std::filesystem::path& path, const TraceSpec& spec) {
  auto writer = begin_trace(path, spec);
  check(writer->finish(manifest_of(*writer, spec), spec.symbols));
}

}  // namespace ktraced::test
