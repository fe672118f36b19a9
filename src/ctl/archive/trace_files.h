// SPDX-License-Identifier: BSD-2-Clause
// The files of a trace directory that an archive has.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/directory/name_files.h"

namespace ktraced {

inline constexpr const char* kManifestFile = "manifest.json";
// Beside the directory of the packets; the manifest is first.
inline constexpr std::array kArchivedFiles = {kManifestFile, kTasksFile,    kCachesFile,
                                              kCgroupsFile,  kCommandsFile, kSymbolsFile};
inline constexpr const char* kPacketDirectory = "ctf";

// "cpu12"
[[nodiscard]] inline bool is_packet_file(std::string_view name) {
  constexpr std::string_view kPrefix = "cpu";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return std::ranges::all_of(name.substr(kPrefix.size()),
                             [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace ktraced
