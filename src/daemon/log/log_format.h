// SPDX-License-Identifier: BSD-2-Clause
// The format of log lines.
#pragma once

#include <spdlog/formatter.h>

#include <memory>

namespace ktraced {

// spdlog's default format, with messages converted by printable(), because they quote client input.
[[nodiscard]] std::unique_ptr<spdlog::formatter> log_formatter();

}  // namespace ktraced
