// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/service/notifications.h"

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

#include <ctime>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

void notify(const std::string& state) { ::sd_notify(0, state.c_str()); }

uint64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

void notify_ready(const std::string& status) {
  notify(fmt::format("READY=1\nSTATUS={}", printable(status)));
}

void notify_reloading() {
  notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS=Reading the configuration",
                     monotonic_us()));
}

void notify_stopping() { notify("STOPPING=1\nSTATUS=Stopping"); }

void notify_watchdog() { notify("WATCHDOG=1"); }

}  // namespace ktraced
