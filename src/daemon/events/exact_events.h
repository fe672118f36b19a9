// SPDX-License-Identifier: BSD-2-Clause
// Which events have catchers.
#pragma once

#include "daemon/config/config.h"
#include "daemon/events/event_catalog.h"
#include "kernel/programs/features.h"

namespace ktraced {

// The events whose hits are recorded also when the kernel skips their programs, on this kernel.
// docs/decisions.md has the rates of skipped hits behind that.
[[nodiscard]] EventSet exact_events(const ExactConfig& config, const KernelFeatures& features,
                                    const Schema& schema);

}  // namespace ktraced
