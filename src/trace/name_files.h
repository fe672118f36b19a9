// SPDX-License-Identifier: BSD-2-Clause
// Reads what a trace directory knows by name: tasks.json, caches.json, symbols.json.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "trace/name_table.h"
#include "trace/trace_directory.h"

namespace ktraced {

// Kernel symbols by address: "kmalloc_trace+0x2a/0x90".
using SymbolMap = std::unordered_map<uint64_t, std::string>;

// Each reads one file, entry by entry: memory is taken for what it says, not for its text.
// They fail as TraceDirectory::open_file(), or with ExitCode::data, naming the file and where it is
// not good; the entries before that have been taken.
Result<> read_tasks(const TraceDirectory& trace, NameTable& names);
Result<> read_caches(const TraceDirectory& trace, NameTable& names);
Result<> read_symbols(const TraceDirectory& trace, SymbolMap& symbols);

inline constexpr const char* kTasksFile = "tasks.json";
inline constexpr const char* kCachesFile = "caches.json";
inline constexpr const char* kSymbolsFile = "symbols.json";

}  // namespace ktraced
