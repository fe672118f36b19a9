// SPDX-License-Identifier: BSD-2-Clause
// How long a client waits for cheap answers while other clients send requests.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace ktraced::live {

// What a separate client got that repeated a request while some work ran.
struct Waits {
  int answers = 0;
  std::chrono::steady_clock::duration longest{};  // for one answer
};

// Repeats requests of `method` while `work` runs. Throws what `work` throws, and if there is no
// answer.
[[nodiscard]] Waits waits_during(const std::string& socket, const std::function<void()>& work,
                                 const std::string& method = "version");

// The longest time that a separate client waited for an answer of `method`, as above.
[[nodiscard]] std::chrono::milliseconds longest_wait(const std::string& socket,
                                                     const std::function<void()>& work,
                                                     const std::string& method = "version");

}  // namespace ktraced::live
