// SPDX-License-Identifier: BSD-2-Clause
// Identity of the machine and of its boot.
#pragma once

#include <string>

namespace ktraced {

// The host name as uname -n prints it.
[[nodiscard]] std::string host_name();

// Changes with every boot, and only then. CLOCK_BOOTTIME timestamps can only be compared within one
// boot. Empty if it cannot be read.
[[nodiscard]] std::string boot_id();

}  // namespace ktraced
