// SPDX-License-Identifier: BSD-2-Clause
// Text on standard error that can be done without.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <utility>

namespace ktraced {

// Writes to standard error. A closed pipe, a full disk: the text is dropped, and that is all.
// Waits at most `limit` for a reader (0: as long as it takes).
void write_stderr(std::string_view text, std::chrono::milliseconds limit = {}) noexcept;

// `print_stderr("ktracectl: {}\n", text)`: as fmt::print(stderr, …), which throws instead.
template <class... Args>
void print_stderr(fmt::format_string<Args...> format, Args&&... args) {
  write_stderr(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ktraced
