// SPDX-License-Identifier: BSD-2-Clause
// Where a stripped glibc of x86-64 starts threads, by its code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/symbols/elf_file.h"

namespace ktraced {

// What a library exports that the calls are known by.
struct StartExports {
  std::optional<uint64_t> exit;  // its address; nothing: it is not in the file
  bool is_glibc = false;         // it has gnu_get_libc_version()
  bool has_threads = false;      // it has pthread_create()
};

// The last byte of a call, by which a return address is named.
struct StartCall {
  uint64_t address;         // as the file was linked
  std::string_view caller;  // the function that calls
};

// The calls of main() and of the routines of threads: behind them stands what only their functions
// do with the result. None if it stands in more than one place, if the file has more than 16 MiB of
// code, or if its code cannot be read.
[[nodiscard]] std::vector<StartCall> start_calls(const ElfFile& file, const StartExports& exports);

}  // namespace ktraced
