// SPDX-License-Identifier: BSD-2-Clause
// Reads the ids, names, start times and pid namespaces of live processes and threads in /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files/proc_stat.h"
#include "bpf/shared_state.h"

namespace ktraced {

// The id of a process or thread that a directory of /proc is named after; nothing: it is none.
[[nodiscard]] std::optional<uint32_t> proc_id(std::string_view name);

struct ProcProcess {
  uint32_t tgid = 0;
  uint64_t start_time = 0;  // as start_in_stat()
};
// The living process that has this id or a thread of this id.
[[nodiscard]] std::optional<ProcProcess> process_with_thread(uint32_t id);

// A thread's name as the tracepoints report it, from the text of its "comm" file in /proc. The file
// adds a kworker's current work to its name: "kworker/0:1-events".
[[nodiscard]] std::string_view comm_of_proc(std::string_view text);

// Visits every thread; `since` and `seen` are 0. Fails with ExitCode::io or no_permission if some
// could not be read; those that have ended are no failure.
[[nodiscard]] Result<> for_each_proc_thread(
    const std::function<void(uint32_t tid, const task_info& info)>& visit);

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
