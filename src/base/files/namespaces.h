// SPDX-License-Identifier: BSD-2-Clause
// Whether numbers of this process mean what they mean to the kernel's BPF programs.
#pragma once

#include <cstdint>
#include <string_view>

namespace ktraced {

// BPF programs see the ids of processes and threads in the initial pid namespace. True also if
// the kernel has no others; false if /proc does not show the namespace of this process.
[[nodiscard]] bool in_initial_pid_namespace();

// What the time namespace of this process adds to CLOCK_BOOTTIME, ns. BPF programs read the clock
// without it. 0 if the kernel has no time namespaces.
[[nodiscard]] int64_t boottime_offset_ns();

// The offset of CLOCK_BOOTTIME in the text of a "timens_offsets" file of /proc, ns; 0 if there is
// none.
[[nodiscard]] int64_t boottime_offset_in(std::string_view timens_offsets);

}  // namespace ktraced
