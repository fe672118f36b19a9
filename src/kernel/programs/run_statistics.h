// SPDX-License-Identifier: BSD-2-Clause
// The kernel's statistics of BPF programs: how often and how long they ran.
#pragma once

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Keeps the statistics on while it exists. They are of the whole machine, and make every run of a
// BPF program slower by two readings of the clock. Move-only.
class RunStatistics {
 public:
  // Turns them on, unless kernel.bpf_stats_enabled has done so already. Fails with
  // ExitCode::no_permission without CAP_SYS_ADMIN, which the kernel demands for it.
  static Result<RunStatistics> turn_on();

 private:
  RunStatistics() = default;

  Fd fd_;  // none: they are on anyway
};

}  // namespace ktraced
