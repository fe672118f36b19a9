// SPDX-License-Identifier: BSD-2-Clause
// Durations as users write them.
#pragma once

#include <chrono>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// "500ms", "2s", "1.5m", "1h", "1d", "250us", "100ns"; without a unit it is seconds. Fails with
// ExitCode::usage for anything else, and for durations of 0 or less or of more than 100 years.
[[nodiscard]] Result<std::chrono::nanoseconds> parse_duration(std::string_view text);

}  // namespace ktraced
