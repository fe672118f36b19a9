// SPDX-License-Identifier: BSD-2-Clause
// Waits for running BPF programs.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// After wait(), every new program sees what was stored before, and all programs that began earlier
// have ended. Takes an RCU grace period: milliseconds. For one thread.
class ProgramBarrier {
 public:
  // Makes what wait() needs, which then needs neither memory nor descriptors. Fails with
  // ExitCode::os.
  Result<> prepare();
  // Logs an error, and does not wait, if prepare() would fail.
  void wait();

 private:
  Fd outer_, inner_;
};

}  // namespace ktraced
