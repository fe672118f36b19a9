// SPDX-License-Identifier: BSD-2-Clause
// Ground truth: small actions whose every detail is known, reported as JSON.
//
//   truth [--wait] [--comm NAME] [--uid UID] [--cpu N] [--cgroup DIR] ACTION [ARGUMENT…]
//
// With --wait the program first prints {"ready":PID} and acts when it has read a
// line, so that a test can set a filter on a process that already exists. The last
// line printed is one JSON object: what really happened, with "pid", "comm" and "prio" of
// the process. Exit code 0 only if everything went as it should.
#pragma once

#include <sys/types.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace truth {

using nlohmann::json;
using Arguments = std::span<const std::string>;
using Action = json (*)(Arguments);

inline constexpr size_t kPage = 4096;
// Stands before a message in its allocation: struct msg_msg.
inline constexpr size_t kMessageHeader = 48;

// The actions, one file each subject.
json getppid_calls(Arguments);  // calls.cpp
json numbered_calls(Arguments);
json load(Arguments);
json known_syscalls(Arguments);
json ia32_syscall(Arguments);
json harmless_calls(Arguments);
json string_arguments(Arguments);  // strings.cpp
json fork_children(Arguments);     // tasks.cpp
json process_tree(Arguments);
json ends_of_processes(Arguments);
json rename_threads(Arguments);
json call_once(Arguments);  // names.cpp
json changing_names(Arguments);
json reused_ids(Arguments);
json changing_users(Arguments);
json exec_chain(Arguments);  // exec.cpp
json exec_calls(Arguments);
json refused_execs(Arguments);
json signals(Arguments);   // signals.cpp
json switches(Arguments);  // sched.cpp
json migrations(Arguments);
json kernel_memory(Arguments);  // kmem.cpp
json leave_messages(Arguments);
json out_of_memory(Arguments);
json memory_of_nodes(Arguments);  // nodes.cpp

// Ends the program with a message, which includes errno if it is set.
[[noreturn]] void die(std::string_view what);
// Returns a non-negative result; ends the program on -1.
long check(long result, std::string_view what);

// An argument as a number, or `fallback` if there are fewer arguments.
long number(Arguments arguments, size_t index, long fallback);

pid_t gettid_now();
// The kernel's priority of the calling thread while it has no real-time policy.
int prio_now();
std::string comm_now();

// A 64-bit system call with all six argument registers as given; returns what the
// kernel left in rax (a negated errno on failure).
long raw_syscall(long nr, const std::array<unsigned long, 6>& arguments);

// A call through the 32-bit entry, from 64-bit code. Ends the program if the kernel has none.
long ia32_call(unsigned nr, const std::array<unsigned, 5>& arguments);

// Binds the calling thread to one CPU.
void pin_to_cpu(int cpu);

// Waits for `pid` to end and describes how: {"pid","exit_code","signal","wait_status"}.
json reap(pid_t pid);

}  // namespace truth
