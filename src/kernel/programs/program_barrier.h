// SPDX-License-Identifier: BSD-2-Clause
// Waits for running BPF programs.
#pragma once

#include "base/fd.h"

namespace ktraced {

// After wait(), every new program sees what was stored before, and all programs that began earlier
// have ended. Takes an RCU grace period: milliseconds. For one thread.
class ProgramBarrier {
 public:
  void wait();

 private:
  Fd outer_, inner_;  // created on first use
};

}  // namespace ktraced
