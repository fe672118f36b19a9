// SPDX-License-Identifier: BSD-2-Clause
// Ids of processes and threads in the pid namespaces of clients.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"

namespace ktraced {

// Fails with ExitCode::unavailable if this process is not in the initial pid namespace: then the
// ids that it sees are not those that BPF programs see.
[[nodiscard]] Result<> check_sees_kernel_pids();

// True if a process is in another pid namespace than the initial one: it knows other processes by
// ids that are not the kernel's. Nothing if /proc does not show it, as when it has ended.
[[nodiscard]] std::optional<bool> in_nested_pid_namespace(uint32_t pid);

// The ids that processes or threads have in the directory `proc`, by those that they have in the
// pid namespace of `client`, a process with its id in `proc`. Reads the files of all processes: not
// for the main thread.
//
// A process is found if it is in the namespace of the client or in one below it. Whether it is
// follows from its ancestors, or from /proc/PID/ns/pid where this process may read it. Fails with
// ExitCode::usage if one of `ids` is not found.
[[nodiscard]] Result<std::map<uint32_t, uint32_t>> kernel_pids(
    uint32_t client, const std::set<uint32_t>& ids, const std::filesystem::path& proc = "/proc");

}  // namespace ktraced
