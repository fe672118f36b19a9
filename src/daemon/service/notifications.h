// SPDX-License-Identifier: BSD-2-Clause
// States of the daemon, for a service manager (sd_notify(3)). Thread-safe.
#pragma once

#include <string>

namespace ktraced {

// Serves requests; `status` is a line for `systemctl status`.
void notify_ready(const std::string& status);
// Reads its configuration again, until notify_ready().
void notify_reloading();
void notify_stopping();
// Is alive.
void notify_watchdog();

}  // namespace ktraced
