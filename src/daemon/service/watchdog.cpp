// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/watchdog.h"

#include <systemd/sd-daemon.h>

#include <algorithm>

#include "daemon/service/notifications.h"

namespace ktraced {

std::optional<std::chrono::microseconds> watchdog_interval() {
  uint64_t interval_us = 0;
  if (::sd_watchdog_enabled(0, &interval_us) <= 0) return std::nullopt;
  return std::chrono::microseconds(interval_us);
}

Result<EventSource> start_watchdog(
    EventLoop& loop, std::chrono::microseconds interval,
    std::function<void(const std::function<void()>& notify)> in_drain_thread) {
  const auto half = std::chrono::duration_cast<std::chrono::milliseconds>(interval / 2);
  return loop.add_repeating_timer(
      std::max(half, std::chrono::milliseconds(1)),
      [in_drain_thread = std::move(in_drain_thread)] { in_drain_thread(notify_watchdog); });
}

}  // namespace ktraced
