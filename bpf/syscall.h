/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which system call runs, and its arguments. */
#ifndef KTRACED_BPF_SYSCALL_H
#define KTRACED_BPF_SYSCALL_H

#include "emit.h"

enum {
	TS_COMPAT = 0x0002,           /* thread_info.status: in a 32-bit system call */
	X32_SYSCALL_BIT = 0x40000000, /* the highest bit set in the number of an x32 system call */
	ABI_NATIVE = 0,
	ABI_IA32 = 1,
	ABI_X32 = 2,
};

static __always_inline u32 syscall_abi(struct task_struct *current, u32 nr)
{
	if ((s32)nr >= X32_SYSCALL_BIT) /* negative numbers have the bit too, and are no valid call */
		return ABI_X32;
	return current->thread_info.status & TS_COMPAT ? ABI_IA32 : ABI_NATIVE;
}

/* Rejects a call that is not selected at almost no cost. */
static __always_inline u32 matching_call(u32 sessions, struct task_struct *current, u32 nr)
{
	if (sessions & ~control.all_calls_sessions)
		sessions &= call_sessions(syscall_abi(current, nr), nr & ~X32_SYSCALL_BIT);
	return sessions ? matching_current(sessions, current) : 0;
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

#endif
