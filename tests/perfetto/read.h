// SPDX-License-Identifier: BSD-2-Clause
// Reads Perfetto traces back, as a viewer does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced::test {

// Arguments as text: numbers in decimal, pointers in hexadecimal, arrays with commas.
using ReadArguments = std::map<std::string, std::string>;

// A slice, or an instant if it has no end.
struct ReadMark {
  uint64_t begin = 0, end = 0;
  std::string name;
  std::string category;
  std::string track;  // its name, or "pid/tid" of that of a thread
  size_t depth = 0;   // slices around it
  std::string stack;  // as of a sample; empty: it has none
  ReadArguments args;
};

// An event of a bundle.
struct ReadEvent {
  uint64_t ts = 0;
  uint32_t cpu = 0;
  uint32_t tid = 0;
  std::string name;
  ReadArguments args;
  uint32_t flags = 0;
  bool first_after_loss = false;
};

// A sample of a CPU.
struct ReadSample {
  uint64_t ts = 0;
  uint32_t cpu = 0, pid = 0, tid = 0;
  int32_t mode = 0;
  std::string stack;  // functions, the outermost first: "main (/app); read (/libc)"
};

struct ReadThread {
  std::string name;  // the last one defined
  int32_t pid = 0;
};

// ftrace_stats of one CPU.
struct ReadStats {
  uint64_t entries = 0, overrun = 0, dropped = 0, read = 0;
};

struct ReadTrace {
  std::vector<ReadEvent> events;
  std::vector<ReadMark> slices;  // by begin
  std::vector<ReadMark> instants;
  std::vector<ReadSample> samples;
  std::map<std::string, std::string> build_ids;  // of mapped files, by path
  std::map<std::string, uint64_t> offsets;       // of frames in these, by function
  std::map<std::string, std::vector<std::pair<uint64_t, int64_t>>> counters;  // by name of track
  std::map<int32_t, ReadThread> threads;
  std::map<int32_t, std::string> processes;
  std::vector<std::pair<uint64_t, uint64_t>> clocks;  // BOOTTIME and REALTIME at that time
  std::map<uint64_t, ReadStats> stats_begin, stats_end;
  std::string release;
  std::vector<std::string> faults;  // what a viewer would not understand

  // By name: events of bundles and instants, and calls as sys_enter and sys_exit.
  [[nodiscard]] std::map<std::string, uint64_t> counts() const;
  [[nodiscard]] std::vector<ReadMark> slices_on(std::string_view track) const;
  [[nodiscard]] std::vector<ReadMark> instants_named(std::string_view name) const;
};

[[nodiscard]] ReadTrace read_perfetto(const std::string& bytes);
[[nodiscard]] ReadTrace read_perfetto_file(const std::filesystem::path& path);

}  // namespace ktraced::test
