// SPDX-License-Identifier: BSD-2-Clause
// Whether numbers of this process mean what they mean to the kernel's BPF programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ktraced {

// BPF programs see the ids of processes and threads in the initial pid namespace. True also if
// the kernel has no others; false if /proc does not show the namespace of this process.
[[nodiscard]] bool in_initial_pid_namespace();

// What the time namespace of this process adds to CLOCK_BOOTTIME, ns. BPF programs read the clock
// without it. 0 if the kernel has no time namespaces; nothing if the kernel does not say it.
[[nodiscard]] std::optional<int64_t> boottime_offset_ns();

// The time namespaces of a process, as the inodes of "ns/time" and "ns/time_for_children" in /proc.
struct TimeNamespaces {
  uint64_t own = 0, of_children = 0;
};

// The offset of CLOCK_BOOTTIME, ns, of a process with these namespaces and this text of its
// "timens_offsets"; nothing if that is of another namespace than its own.
[[nodiscard]] std::optional<int64_t> boottime_offset_in(const TimeNamespaces& namespaces,
                                                        std::string_view timens_offsets);

// The offset of CLOCK_BOOTTIME in the text of a "timens_offsets" file of /proc, ns; 0 if there is
// none.
[[nodiscard]] int64_t boottime_offset_in(std::string_view timens_offsets);

}  // namespace ktraced
