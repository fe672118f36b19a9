// SPDX-License-Identifier: BSD-2-Clause
// How a line of the log is written.
#pragma once

#include <spdlog/formatter.h>

#include <memory>

namespace ktraced {

// spdlog's own form, with messages as printable() shows them: they quote what clients send.
[[nodiscard]] std::unique_ptr<spdlog::formatter> log_formatter();

}  // namespace ktraced
