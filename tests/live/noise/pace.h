// SPDX-License-Identifier: BSD-2-Clause
// Pauses that limit CPU time.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>

#include "dice.h"

namespace noise {

// Keeps the CPU time of this process and of its children that have ended at a share of one CPU.
class Pace {
 public:
  // `load`: percent; 100 is without pauses. The signals of `ending` are blocked.
  Pace(uint64_t load, const sigset_t& ending);

  // Pauses if needed. `others`: CPU time so far that is to be counted too. False if a signal has
  // come.
  [[nodiscard]] bool keep(std::chrono::nanoseconds others);

 private:
  using Clock = std::chrono::steady_clock;

  // Adds what the time since the last call allows and subtracts what was used.
  void account(std::chrono::nanoseconds used);
  [[nodiscard]] bool pause(std::chrono::nanoseconds time);

  double share_;  // of one CPU
  sigset_t ending_;
  Dice dice_{0};
  Clock::time_point last_ = Clock::now();
  std::chrono::nanoseconds used_, budget_{0};
};

}  // namespace noise
