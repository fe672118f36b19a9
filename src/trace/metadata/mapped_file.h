// SPDX-License-Identifier: BSD-2-Clause
// The files that processes have mapped as code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "trace/packet/packet.h"

namespace ktraced {

// A trace names so many files at most.
inline constexpr size_t kMaxMappedFiles = 65536;

// The highest bit of every number of a file; other values of rec_mapping.file are enum mapping_of.
inline constexpr uint64_t kFileNumberBit = uint64_t{1} << 63;

// A file that a process has mapped.
struct MappedFile {
  uint64_t number = 0;  // by which mappings name it
  // As the process saw it: below its root. Foreign text; empty: not known.
  std::string path = {};
  uint64_t inode = 0;
  uint64_t changed_ns = 0;    // its ctime, CLOCK_REALTIME
  uint32_t device = 0;        // of the kernel; stat() of btrfs and of overlays has another one
  bool deleted = false;       // its path was not there any more, or it never had one
  bool cut = false;           // the path lacks its beginning
  std::string build_id = {};  // in lower-case hexadecimal; empty: not known, or it has none

  // The path without its directory.
  [[nodiscard]] std::string_view name() const {
    return std::string_view(path).substr(path.rfind('/') + 1);
  }
  bool operator==(const MappedFile&) const = default;
};

// Is it in the form of MappedFile::build_id, and of a length that a file may have?
[[nodiscard]] bool is_build_id(std::string_view text);

// The file in a record (struct rec_file); nothing if the record is none, or is not as programs
// write it.
[[nodiscard]] std::optional<MappedFile> file_of(RecordView record);

}  // namespace ktraced
