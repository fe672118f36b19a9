// SPDX-License-Identifier: BSD-2-Clause
// Waits for BPF programs that are just running.
#pragma once

#include "base/fd.h"

namespace ktraced {

// What was stored before wait() is seen by every program that begins after it, and none is left
// that began before. Takes a grace period of RCU: milliseconds. For one thread.
class ProgramBarrier {
 public:
  void wait();

 private:
  Fd outer_, inner_;  // made when they are needed
};

}  // namespace ktraced
