// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/notifications.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <ctime>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

void notify(const std::string& state) { ::sd_notify(0, state.c_str()); }

void notify_alive() { notify("WATCHDOG=1"); }

uint64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

void notify_starting(const std::string& status, std::chrono::seconds more) {
  notify(fmt::format("EXTEND_TIMEOUT_USEC={}\nSTATUS={}", std::chrono::microseconds(more).count(),
                     printable(status)));
}

void notify_ready(const std::string& status) {
  notify(fmt::format("READY=1\nSTATUS={}", printable(status)));
}

void notify_reloading() {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reading the configuration",
                     monotonic_us()));
}

void notify_stopping() { notify("STOPPING=1\nSTATUS=Stopping"); }

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
      [in_drain_thread = std::move(in_drain_thread)] { in_drain_thread(notify_alive); });
}

}  // namespace ktraced
