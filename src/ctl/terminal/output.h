// SPDX-License-Identifier: BSD-2-Clause
// Standard output, written in large pieces.
#pragma once

#include <string_view>

#include "base/error.h"

namespace ktraced {

// Writes all of `text` to `fd`. False if the reader is gone (EPIPE), which ends a program quietly;
// SIGPIPE must be ignored. Fails with ExitCode::io.
[[nodiscard]] Result<bool> write_all(int fd, std::string_view text);

}  // namespace ktraced
