// SPDX-License-Identifier: BSD-2-Clause
// Reloads that change the rings of the flight recorder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/client/daemon.h"

namespace ktraced::live {

// Reloads this configuration; returns the answer, or the error if it must be refused.
json reload(Daemon& daemon, const json& config);
json refused_reload(Daemon& daemon, const json& config);

// status.flight
json flight_of(Daemon& daemon);

// Waits until no snapshot is being written: before that, the sizes cannot be changed again.
void wait_until_written(Daemon& daemon);

// Waits until there are `count` snapshots and none is being written. Returns them, the oldest
// first.
std::vector<json> finished_snapshots(Daemon& daemon, size_t count);
// The numbers of a process in a snapshot of that list, or in the answer to `snapshot.take`.
std::vector<uint64_t> snapshot_numbers(const json& snapshot, pid_t pid);

// The states in the trace configs of a manifest, without repetitions: "running", "paused".
std::vector<std::string> states_in(const json& manifest);

}  // namespace ktraced::live
