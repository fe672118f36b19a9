// SPDX-License-Identifier: BSD-2-Clause
// Names of the numbers in records.
//
// Functions that return a string_view return an empty one for a number without a name. The views
// are valid as long as the program runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"

namespace ktraced {

// ---- system calls (syscall_names.cpp); `abi` is a syscall_abi_t ----

// "openat"; numbers of x32 calls with or without their bit 0x40000000.
[[nodiscard]] std::string_view syscall_name(uint32_t abi, int32_t number);
// The number of the call "openat"; of x32 calls without their bit. Nothing: there is no such call.
[[nodiscard]] std::optional<int32_t> syscall_number(uint32_t abi, std::string_view name);
// "x86_64", "i386", "x32".
[[nodiscard]] std::string_view syscall_abi_name(uint32_t abi);
// "ENOENT" for 2. Includes kernel-internal ones like ERESTARTSYS, which sys_exit reports for an
// interrupted call.
[[nodiscard]] std::string_view errno_name(int32_t error);

// ---- signals (signal_names.cpp) ----

// "SIGUSR1"; "SIGRTMIN+2", counted from the C library's SIGRTMIN (34).
[[nodiscard]] std::string_view signal_name(int32_t signal);
// "SI_USER", or a code of that signal: "SEGV_MAPERR".
[[nodiscard]] std::string_view signal_code_name(int32_t signal, int32_t code);
// Did the kernel send a signal with this si_code, whatever ran then? A fault, the end of a child, a
// timer, or a descriptor that is ready. Not a message queue: the process that ran has sent the
// message.
[[nodiscard]] bool sent_by_kernel(int32_t code);
// Flags of sigaction(2).
[[nodiscard]] const std::vector<FlagName>& sa_flag_table();
// Codes with a name; `signal` 0: of any signal.
struct SignalCode {
  int32_t signal = 0;
  int32_t code = 0;
  std::string_view name;
};
[[nodiscard]] std::span<const SignalCode> signal_codes();
// Result of a generated signal: "delivered", "ignored", …
[[nodiscard]] std::string_view signal_result_name(int32_t result);

// ---- tasks (task_names.cpp) ----

// What a CPU was doing: "user", "kernel", "idle", "guest", "kernel_thread". `mode`: a sample_mode.
[[nodiscard]] std::string_view sample_mode_name(uint32_t mode);

// "task", "softirq", "hardirq" or "nmi": the innermost one. Empty: unknown. `context`: a
// record_context.
[[nodiscard]] std::string_view context_name(uint32_t context);
// The bits TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ and TRACE_FLAG_NMI of the kernel's tracer. Its
// other flags are not known.
[[nodiscard]] uint8_t context_flags(uint32_t context);
// In the third place of the kernel's latency format: 'h', 's', 'H' …; '.' for a task, or unknown.
[[nodiscard]] char context_letter(uint32_t context);

// What the kernel keeps of a task's name, without the NUL.
inline constexpr size_t kCommBytes = 15;
// Why no task has a name of this pattern, a name or the beginning of one and '*', as the end of a
// sentence about it: "is longer than …". Empty: one may have.
[[nodiscard]] std::string comm_problem(std::string_view pattern);
// Does the name of a task match a pattern, which is that name or the beginning of it and '*'?
[[nodiscard]] bool comm_matches(std::string_view comm, std::string_view pattern);

// Letters as in ftrace's sched_switch: "S", "R+", "D|Z".
[[nodiscard]] std::string task_state_letters(uint32_t state);

// How a task ended: the parts of a wait(2) status.
struct ExitStatus {
  int32_t status = 0;  // its argument of exit(); 0 if a signal ended it
  int32_t signal = 0;  // that ended it; 0: none
  bool core = false;   // it dumped core

  bool operator==(const ExitStatus&) const = default;
};
[[nodiscard]] ExitStatus decode_exit_code(int32_t exit_code);
// "exit 3", "SIGSEGV", "SIGSEGV, core dumped".
[[nodiscard]] std::string exit_code_text(int32_t exit_code);

// The flags of clone(2), without the signal.
[[nodiscard]] const std::vector<FlagName>& clone_flag_table();
// "CLONE_VM|CLONE_FS|SIGCHLD": the low byte is the signal sent when the child ends.
[[nodiscard]] std::string clone_flag_names(uint64_t flags);

// ---- flags (flag_names.cpp) ----

// Names in the order of the table, each clearing its bits, then the remaining bits as 0x…: exactly
// what the kernel's __print_flags(…, "|", …) writes. Empty for 0.
[[nodiscard]] std::string flag_names(uint64_t flags, const std::vector<FlagName>& table);

// Names of allocation flags as the kernel prints gfp_flags: "GFP_KERNEL|__GFP_ZERO", "none" for 0.
[[nodiscard]] std::string gfp_names(uint32_t flags, const std::vector<FlagName>& table);

// ---- numbers with names although the schema calls them plain numbers (named_meaning.cpp) ----

// The meaning by which the values of the event's field have names. It differs from the field's own
// for words of flags that the kernel's format declares as integers (clone_flags of task_newtask),
// and for sa_flags of signal_deliver. Only for texts: JSON, CTF and SQL keep the field's own.
[[nodiscard]] Meaning named_meaning(const Event& event, const Field& field);

// The event with these meanings.
[[nodiscard]] Event with_named_meanings(Event event);

}  // namespace ktraced
