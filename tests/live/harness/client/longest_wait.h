// SPDX-License-Identifier: BSD-2-Clause
// How long a client waits for cheap answers while other clients send requests.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ktraced::live {

// The longest time that a separate client waited for an answer of `method`. It repeats the request
// while `work` runs. Throws what `work` throws, and if there is no answer.
[[nodiscard]] std::chrono::milliseconds longest_wait(const std::string& socket,
                                                     const std::function<void()>& work,
                                                     const std::string& method = "version");

}  // namespace ktraced::live
