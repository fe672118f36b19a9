// SPDX-License-Identifier: BSD-2-Clause
// Optional text on standard error.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace ktraced {

// Writes to standard error. If that fails (closed pipe, full disk), the text is dropped silently.
// Waits at most `limit` for a reader (0: without a limit).
void write_stderr(std::string_view text, std::chrono::milliseconds limit = {}) noexcept;

// `print_stderr("ktracectl: {}\n", text)`: as fmt::print(stderr, …), which throws instead.
template <class... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ktraced
