// SPDX-License-Identifier: BSD-2-Clause
// The files of a trace directory.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace ktraced {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kTasksFile = "tasks.json";
inline constexpr const char* kCachesFile = "caches.json";
inline constexpr const char* kCgroupsFile = "cgroups.json";    // not in older traces
inline constexpr const char* kCommandsFile = "commands.json";  // not in older traces
inline constexpr const char* kFilesFile = "files.json";        // only of traces with stacks
inline constexpr const char* kJitFile = "jit.json";            // if code of processes has names
inline constexpr const char* kSymbolsFile = "symbols.json";
// The files beside the directory of the packets; the manifest is first.
inline constexpr std::array kTraceFiles = {kManifestFile, kTasksFile, kCachesFile, kCgroupsFile,
                                           kCommandsFile, kFilesFile, kJitFile,    kSymbolsFile};

inline constexpr const char* kPacketDirectory = "ctf";
// Its files have packets of one CPU each, but for this one.
inline constexpr const char* kMetadataFile = "metadata";
// It has fewer files: no kernel has as many CPUs.
inline constexpr uint32_t kPacketFilesMax = 10'000;

// Is it one of kTraceFiles?
[[nodiscard]] inline bool is_trace_file(std::string_view name) {
  return std::ranges::find(kTraceFiles, name) != kTraceFiles.end();
}

inline constexpr std::string_view kPacketFilePrefix = "cpu";

// The name of the file with the packets of a CPU: "cpu12".
[[nodiscard]] inline std::string packet_file_of(uint32_t cpu) {
  return std::string(kPacketFilePrefix) + std::to_string(cpu);
}

// The CPU whose packets are in the file of this name: 12 for "cpu12".
[[nodiscard]] inline std::optional<uint32_t> cpu_of_file(std::string_view name) {
  if (!name.starts_with(kPacketFilePrefix)) return std::nullopt;
  const std::string_view digits = name.substr(kPacketFilePrefix.size());
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;  // not a second "cpu7"
  uint32_t cpu = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), cpu);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return cpu;
}

}  // namespace ktraced
