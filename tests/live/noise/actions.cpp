// SPDX-License-Identifier: BSD-2-Clause
#include "actions.h"

#include <array>

namespace noise {
namespace {

// A process costs a hundred times as much as a few system calls.
constexpr std::array kActions = std::to_array<Action>({
    {"calls", "ask", 30, ask},
    {"calls", "make_mistakes", 20, make_mistakes},
    {"calls", "open_missing_files", 20, open_missing_files},
    {"calls", "read_and_write", 20, read_and_write},
    {"calls", "look_at_files", 15, look_at_files},
    {"calls", "use_futex", 15, use_futex},
    {"calls", "use_pipe", 15, use_pipe},
    {"calls", "use_sockets", 10, use_sockets},
    {"calls", "use_epoll", 10, use_epoll},
    {"calls", "sleep_shortly", 10, sleep_shortly},
    {"memory", "map_memory", 15, map_memory},
    {"memory", "grow_heap", 3, grow_heap},
    {"files", "write_file", 12, write_file},
    {"files", "rename_file", 6, rename_file},
    {"files", "link_file", 3, link_file},
    {"files", "remove_file", 6, remove_file},
    {"files", "make_directory", 3, make_directory},
    {"threads", "run_thread", 10, run_thread},
    {"threads", "start_thread", 3, start_thread},
    {"threads", "end_thread", 3, end_thread},
    {"processes", "exit_child", 4, exit_child},
    {"processes", "exec_program", 3, exec_program},
    {"processes", "exec_missing_program", 1, exec_missing_program},
    {"processes", "spawn_program", 1, spawn_program},
    {"processes", "leave_orphan", 1, leave_orphan},
    {"processes", "start_process", 3, start_process},
    {"processes", "kill_process", 3, kill_process},
    {"signals", "signal_child", 3, signal_child},
    {"signals", "crash_child", 1, crash_child},
});

}  // namespace

std::span<const Action> actions() { return kActions; }

}  // namespace noise
