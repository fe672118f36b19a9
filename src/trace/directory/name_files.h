// SPDX-License-Identifier: BSD-2-Clause
// Reads the names of a trace directory: tasks.json, caches.json, cgroups.json,
// commands.json, files.json, jit.json, symbols.json.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "trace/directory/trace_directory.h"
#include "trace/directory/trace_files.h"
#include "trace/metadata/jit_code.h"
#include "trace/metadata/mapped_file.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// A trace has the symbols of so many code addresses at most.
inline constexpr size_t kMaxSymbols = size_t{1} << 20;

// Kernel symbols by address: "kmalloc_trace+0x2a/0x90".
using SymbolMap = std::unordered_map<uint64_t, std::string>;

// Each reads one file entry by entry, and not more of them than a writer writes, and of threads
// only ids that a kernel gives, so memory is bounded. They fail as TraceDirectory::open_file(), or
// with ExitCode::data, naming the file and the position of the error or the limit; the entries
// before it have been read.
Result<> read_tasks(const TraceDirectory& trace, NameTable& names);
Result<> read_caches(const TraceDirectory& trace, NameTable& names);
Result<> read_cgroups(const TraceDirectory& trace, NameTable& names);
Result<> read_commands(const TraceDirectory& trace, NameTable& names);
Result<> read_files(const TraceDirectory& trace, std::vector<MappedFile>& files);
// In the order of sort_jit_functions().
Result<> read_jit_functions(const TraceDirectory& trace, std::vector<JitFunction>& functions);
Result<> read_symbols(const TraceDirectory& trace, SymbolMap& symbols);

}  // namespace ktraced
