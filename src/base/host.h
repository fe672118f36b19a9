// SPDX-License-Identifier: BSD-2-Clause
// Which machine this is.
#pragma once

#include <string>

namespace ktraced {

// As uname -n prints it.
[[nodiscard]] std::string host_name();

// Changes with every boot, and only then: times of CLOCK_BOOTTIME can be compared within one.
// Empty if it cannot be read.
[[nodiscard]] std::string boot_id();

}  // namespace ktraced
