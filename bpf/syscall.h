/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which system call runs, its arguments, and when it began. */
#ifndef KTRACED_BPF_SYSCALL_H
#define KTRACED_BPF_SYSCALL_H

#include "emit.h"
#include "names.h"

enum {
	TS_COMPAT = 0x0002,           /* thread_info.status: in a 32-bit system call */
	X32_SYSCALL_BIT = 0x40000000, /* the highest bit set in the number of an x32 system call */
	ABI_NATIVE = 0,
	ABI_IA32 = 1,
	ABI_X32 = 2,
	EXECVE_NATIVE = 59,
	EXECVE_IA32 = 11,
	EXECVE_X32 = 520 | X32_SYSCALL_BIT,
	EXECVEAT_NATIVE = 322,
	EXECVEAT_IA32 = 358,
	EXECVEAT_X32 = 545 | X32_SYSCALL_BIT,
	SETUID = 105, /* of 64-bit and of x32 programs; without X32_SYSCALL_BIT */
	SETREUID = 113,
	SETRESUID = 117,
	SETUID16_IA32 = 23,
	SETREUID16_IA32 = 70,
	SETRESUID16_IA32 = 164,
	SETREUID_IA32 = 203,
	SETRESUID_IA32 = 208,
	SETUID_IA32 = 213,
};

/* A system call: its number, with X32_SYSCALL_BIT, and syscall_abi(). */
struct call {
	u32 nr, abi;
};

static __always_inline u32 syscall_abi(struct task_struct *current, u32 nr)
{
	if ((s32)nr >= X32_SYSCALL_BIT) /* negative numbers have the bit too, and are no valid call */
		return ABI_X32;
	return current->thread_info.status & TS_COMPAT ? ABI_IA32 : ABI_NATIVE;
}

static __always_inline struct call call_of(struct task_struct *current, u32 nr)
{
	return (struct call){ .nr = nr, .abi = syscall_abi(current, nr) };
}

/* Rejects a call that is not selected at almost no cost. */
static __always_inline u32 matching_call(u32 sessions, struct task_struct *current, struct call call)
{
	if (sessions & ~control.all_calls_sessions)
		sessions &= call_sessions(call.abi, call.nr & ~X32_SYSCALL_BIT);
	return sessions ? matching_current(sessions, current) : 0;
}

static __always_inline bool is_execve(struct call call)
{
	return call.nr == (call.abi == ABI_X32    ? EXECVE_X32
			   : call.abi == ABI_IA32 ? EXECVE_IA32
						  : EXECVE_NATIVE);
}

static __always_inline bool is_execveat(struct call call)
{
	return call.nr == (call.abi == ABI_X32    ? EXECVEAT_X32
			   : call.abi == ABI_IA32 ? EXECVEAT_IA32
						  : EXECVEAT_NATIVE);
}

/* What exec_begins() has noted of this execve, which the kernel made of another call; else the call itself.
 * After a failure, what is noted is of this call only if the program was being replaced. Packed into a
 * number, the abi above, because a function cannot return more. */
static __noinline u64 call_that_execs(u32 nr, bool failed)
{
	struct call call = call_of(current_task(), nr);
	u64 task = bpf_get_current_task();
	struct exec_call *exec;

	if (is_execve(call) && (exec = bpf_map_lookup_elem(&exec_calls, &task)) &&
	    exec->tgid == (u32)current_task()->tgid && exec->succeeded == !failed) {
		call.nr = exec->nr;
		call.abi = exec->abi;
	}
	return (u64)call.abi << 32 | call.nr;
}

/*
 * The call that returns `ret`: its number is still in orig_ax. But a program that is executed begins
 * with the number of execve of its own ABI there, whatever call has executed it.
 */
static __always_inline struct call returned_call(struct task_struct *current, u32 nr, s64 ret)
{
	if (nr == EXECVE_NATIVE || nr == EXECVE_IA32 || nr == EXECVE_X32) {
		u64 packed = call_that_execs(nr, ret < 0);

		return (struct call){ .nr = packed, .abi = packed >> 32 };
	}
	return call_of(current, nr);
}

static __always_inline bool sets_user(struct call call)
{
	switch (call.nr & ~X32_SYSCALL_BIT) {
	case SETUID:
	case SETREUID:
	case SETRESUID:
		return call.abi != ABI_IA32;
	case SETUID16_IA32:
	case SETREUID16_IA32:
	case SETRESUID16_IA32:
	case SETREUID_IA32:
	case SETRESUID_IA32:
	case SETUID_IA32:
		return call.abi == ABI_IA32;
	}
	return false;
}

/* At the tracepoint sys_exit(regs, ret). */
static __always_inline struct call returning_call(struct task_struct *current, const u64 *args)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(args, 0, struct pt_regs);
	struct call call = returned_call(current, READ(regs, orig_ax), args[1]);

	if (features.users_at_returns && sets_user(call))
		note_user();
	return call;
}

static __always_inline u32 matching_returning_call(u32 sessions, struct task_struct *current, const u64 *args,
						   u32 other __attribute__((unused)))
{
	return matching_call(sessions, current, returning_call(current, args));
}

static __always_inline void read_args(hex_t args[6], const struct pt_regs *regs, u32 abi)
{
	if (abi == ABI_IA32) {
		args[0] = (u32)READ(regs, bx), args[1] = (u32)READ(regs, cx);
		args[2] = (u32)READ(regs, dx), args[3] = (u32)READ(regs, si);
		args[4] = (u32)READ(regs, di), args[5] = (u32)READ(regs, bp);
	} else {
		args[0] = READ(regs, di), args[1] = READ(regs, si);
		args[2] = READ(regs, dx), args[3] = READ(regs, r10);
		args[4] = READ(regs, r8), args[5] = READ(regs, r9);
	}
}

/*
 * When threads entered their calls: the table call_entries. A thread alone writes words of its own
 * tid, but threads whose tids share a place overwrite each other. A word that is not the thread's own
 * means that the time is unknown.
 */
static __always_inline u64 *entry_place(u32 tid)
{
	return &call_entries[tid & (ENTRY_SLOTS - 1)];
}

static __always_inline u64 entry_word(u32 tid, u64 ts)
{
	return ts << ENTRY_TIME_SHIFT | (tid >> ENTRY_SLOTS_BITS & ENTRY_TID);
}

static __always_inline bool is_entry_of(u64 word, u32 tid)
{
	return (word & ENTRY_TID) == (tid >> ENTRY_SLOTS_BITS & ENTRY_TID);
}

/* When this thread entered its call; 0: unknown. Removes it: a call that seccomp refuses has no entry,
 * and must not find that of an earlier one. */
static __always_inline u64 take_entry(u32 tid)
{
	u64 *place = entry_place(tid), word = *(volatile u64 *)place;

	if (!is_entry_of(word, tid))
		return 0;
	*(volatile u64 *)place = 0;
	return word & ENTRY_UNCHECKED ? 0 : word >> ENTRY_TIME_SHIFT;
}

/* By execve, a thread has got the tid of its leader, which has ended in a call of its own. */
static __always_inline void move_entry(u32 from, u32 to)
{
	u64 *place = entry_place(from), word = *(volatile u64 *)place;

	*(volatile u64 *)entry_place(to) =
		is_entry_of(word, from) ? (word & ~(u64)ENTRY_TID) | entry_word(to, 0) : 0;
}

#endif
