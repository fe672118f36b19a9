// SPDX-License-Identifier: BSD-2-Clause
// What programs that compile at run time say of their code: /tmp/perf-PID.map.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "trace/metadata/mapping_table.h"

namespace ktraced {

// A line of such a file: "START SIZE NAME", with the numbers in hexadecimal.
struct PerfMapLine {
  uint64_t address = 0;
  uint64_t size = 0;      // bytes
  std::string_view name;  // up to the end of the line

  bool operator==(const PerfMapLine&) const = default;
};
// Nothing for a line of another form.
[[nodiscard]] std::optional<PerfMapLine> perf_map_line(std::string_view line);

// Any user writes such files, of any size, while they are read.
struct PerfMapLimits {
  size_t bytes = size_t{128} << 20;      // of a file
  std::chrono::milliseconds time{500};   // to read it
  static constexpr size_t kLine = 4096;  // bytes; longer lines are left out
  static constexpr size_t kName = 512;   // bytes; longer names are cut
};

// The lines of a file that name these addresses, which ascend, as text; each at most once, in the
// order of the file. Code may be replaced: of several lines the last one counts. Fails with
// ExitCode::data if the file exceeds the limits, and with ExitCode::io; the message is a clause.
[[nodiscard]] Result<std::string> perf_map_lines(const Fd& file,
                                                 const std::vector<uint64_t>& addresses,
                                                 const PerfMapLimits& limits = {});

// The file of this name in a directory, open for reading. Not open if it is no regular file, is
// another user's, or was changed before `since` (ns, CLOCK_REALTIME) for the last time: then it is
// of an earlier process. Symbolic links are not followed. Root's files are another user's too: a
// process can have any file in the place of its own.
[[nodiscard]] Fd open_perf_map(int directory, const std::string& name, uid_t owner, uint64_t since);

// perf_map_lines() of the file of a process that has this user: in its own root, under the id that
// it has there, while it lives and this process may look there; else in this process's /tmp. Empty
// if there is none. Fails as perf_map_lines().
[[nodiscard]] Result<std::string> read_perf_map(const ProcessId& process, uid_t user,
                                                const std::vector<uint64_t>& addresses);

}  // namespace ktraced
