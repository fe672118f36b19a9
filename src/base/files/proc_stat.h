// SPDX-License-Identifier: BSD-2-Clause
// The "stat" files of processes and threads in /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace ktraced {

// The limit for the size of a file of a process or thread.
inline constexpr size_t kProcBytesMax = 65536;

// The clock tick of /proc in nanoseconds: the resolution of its start times.
[[nodiscard]] uint64_t proc_tick_ns();

// A number in the text of a "stat" file by its field in proc_pid_stat(5), which is 4 or more;
// nothing if it is not there.
[[nodiscard]] std::optional<uint64_t> number_in_stat(const std::string& line, int field);

// Start time of a thread or process in nanoseconds since boot, rounded down to a tick: field 22 in
// the text of its "stat" file.
[[nodiscard]] std::optional<uint64_t> start_in_stat(const std::string& line);

}  // namespace ktraced
