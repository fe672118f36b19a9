// SPDX-License-Identifier: BSD-2-Clause
// Symbols and lines that were taken out of a program: debug files, found by the build id.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "trace/symbols/elf_file.h"

namespace ktraced {

struct DebugFiles {
  std::filesystem::path directory = "/usr/lib/debug";
  // Ask the servers in the environment variable DEBUGINFOD_URLS too: that takes a network, and the
  // servers learn which programs ran.
  bool debuginfod = false;

  // The debug file of the program with this build id (lower-case hexadecimal), which has the same.
  // Nothing if there is none. Fails as ElfFile::open(); or with ExitCode::unavailable if debuginfod
  // is asked for and the library libdebuginfod is not installed, or with ExitCode::io.
  [[nodiscard]] Result<std::optional<ElfFile>> find(const std::string& build_id) const;
  // What a file with lines shares with others (dwz): of the build id that it names, as find(), or
  // at the path that it names, below `directory`.
  [[nodiscard]] Result<std::optional<ElfFile>> shared_by(const ElfFile& file) const;
};

}  // namespace ktraced
