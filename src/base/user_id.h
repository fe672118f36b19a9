// SPDX-License-Identifier: BSD-2-Clause
// Users by name or number.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace ktraced {

// "1000" or "alice". Fails with ExitCode::usage if there is no user of that name.
[[nodiscard]] Result<uint32_t> parse_user(const std::string& text);

}  // namespace ktraced
