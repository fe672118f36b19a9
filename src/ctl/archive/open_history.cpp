// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/archive/open_history.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/limits.h"
#include "ctl/archive/unpack.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

Result<TraceReader> open_trace(const fs::path& path, bool allow_unfinished) {
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return TraceReader::open(path, allow_unfinished);
  auto trace = unpack_trace(path);
  if (!trace) return propagate(trace);
  return TraceReader::open_unpacked(TraceDirectory::unpacked(path, std::move(trace->files)),
                                    trace->directory, allow_unfinished);
}

}  // namespace

Result<History> open_history(const std::vector<std::string>& paths, bool allow_unfinished) {
  allow_many_descriptors();  // a file of each CPU is open, and as many unpacked ones
  return History::open(std::vector<fs::path>(paths.begin(), paths.end()), allow_unfinished,
                       open_trace);
}

}  // namespace ktraced
