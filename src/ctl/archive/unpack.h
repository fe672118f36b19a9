// SPDX-License-Identifier: BSD-2-Clause
// Unpacks a trace from an archive: tar, plain or compressed with zstd.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "trace/directory/trace_directory.h"

namespace ktraced {

// An archive has at most so much, unpacked.
inline constexpr uint64_t kMaxUnpackedBytes = uint64_t{16} << 30;

struct UnpackedTrace {
  std::filesystem::path directory;  // in the archive; empty: the files are in none
  UnpackedFiles files;
};

// Unpacks the files of a trace into files without a name in the directory for temporary files
// (temporary_directory()), so nothing is left of them when they are closed; each is open. The
// archive is untrusted: links, devices, paths that lead out of it, entries without a size and CPUs
// that no kernel has are refused with ExitCode::data, and so are more than `max_bytes`, a truncated
// or damaged archive and one without exactly one trace; regular files that a reader of traces does
// not need are left out. Fails as unreadable() says, and with ExitCode::io when the disk is full,
// or there is no descriptor or no directory for a file.
[[nodiscard]] Result<UnpackedTrace> unpack_trace(const std::filesystem::path& path,
                                                 uint64_t max_bytes = kMaxUnpackedBytes);

}  // namespace ktraced
