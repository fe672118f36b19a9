// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder, as tests of it and of its snapshots use it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// A configuration that records the numbered calls, with the flight recorder enabled unless `flight`
// says otherwise.
[[nodiscard]] json flight_config(json flight = json::object());

// flight_config() with a filter for these processes.
[[nodiscard]] json flight_config_for(const std::vector<pid_t>& pids, json flight = json::object());

// Takes a snapshot and returns the numbers of a process in it.
std::vector<uint64_t> take_numbers(Daemon& daemon, pid_t pid);

}  // namespace ktraced::live
