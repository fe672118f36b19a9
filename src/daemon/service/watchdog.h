// SPDX-License-Identifier: BSD-2-Clause
// The watchdog of the service manager, which restarts a daemon that hangs (WatchdogSec=).
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "base/error.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

// How often the service manager expects a sign of life; nothing: never.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval();

// Calls `in_drain_thread(notify)` twice in each interval, from the loop: `notify` is to be called
// by the thread that drains the rings. If either thread hangs, there is no sign of life.
[[nodiscard]] Result<EventSource> start_watchdog(
    EventLoop& loop, std::chrono::microseconds interval,
    std::function<void(const std::function<void()>& notify)> in_drain_thread);

}  // namespace ktraced
