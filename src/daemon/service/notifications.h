// SPDX-License-Identifier: BSD-2-Clause
// What the daemon says to a service manager: its states (sd_notify(3)), by any thread, and signs of
// life for the watchdog, which restarts a daemon that hangs (WatchdogSec=).
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

// Still starts, and has not failed if that takes `more` time from now.
void notify_starting(const std::string& status, std::chrono::seconds more);
// Serves requests; `status` is a line for `systemctl status`.
void notify_ready(const std::string& status);
// Reads its configuration again, until notify_ready().
void notify_reloading();
void notify_stopping();

// How often the service manager expects a sign of life; nothing: never.
[[nodiscard]] std::optional<std::chrono::microseconds> watchdog_interval();

// Calls `in_drain_thread(notify)` twice in each interval, from the loop: `notify` is to be called
// by the thread that drains the rings. If either thread hangs, there is no sign of life.
[[nodiscard]] Result<EventSource> start_watchdog(
    EventLoop& loop, std::chrono::microseconds interval,
    std::function<void(const std::function<void()>& notify)> in_drain_thread);

}  // namespace ktraced
