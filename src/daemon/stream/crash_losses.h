// SPDX-License-Identifier: BSD-2-Clause
// The events that a killed daemon had read from the stream but had not written.
#pragma once

#include <optional>

#include "kernel/rings/counters.h"
#include "kernel/rings/stream_account.h"

namespace ktraced {

// Returns the events that are in no trace. Reads the trace that was being written. Returns nothing
// if that trace is missing or contradicts the account.
[[nodiscard]] std::optional<LostByCpu> crash_losses(StreamAccount::Unwritten unwritten);

}  // namespace ktraced
