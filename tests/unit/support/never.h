// SPDX-License-Identifier: BSD-2-Clause
// The only limit of unit tests that wait.
#pragma once

#include <chrono>

namespace ktraced::test {

// Large, because a loaded machine is slow.
constexpr std::chrono::seconds kNever{100};
constexpr int kNeverMs = 100'000;  // for poll(2)

}  // namespace ktraced::test
