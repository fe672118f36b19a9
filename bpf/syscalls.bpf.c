// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* System calls. */
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

static __always_inline u32 matching_entered_call(u32 sessions, struct task_struct *current, const u64 *args,
						 u32 other __attribute__((unused)))
{
	return matching_call(sessions, current, args[1]);
}

/* sys_enter(regs, nr) */
TYPED_EVENT(sys_enter, OF_CURRENT_IF(matching_entered_call), struct rec_sys_enter *r, const struct hit *hit)
{
	u32 abi = syscall_abi(hit->current, hit->args[1]);

	r->nr = hit->args[1];
	r->abi = abi;
	read_args(r->args, TYPED(hit, 0, struct pt_regs), abi);
}

/* The number of the call that returns is still in orig_ax. */
static __always_inline u32 returning_call(const u64 *args)
{
	const struct pt_regs *regs = TYPED_ARGUMENT(args, 0, struct pt_regs);

	return READ(regs, orig_ax);
}

static __always_inline u32 matching_returning_call(u32 sessions, struct task_struct *current, const u64 *args,
						   u32 other __attribute__((unused)))
{
	return matching_call(sessions, current, returning_call(args));
}

/* sys_exit(regs, ret) */
TYPED_EVENT(sys_exit, OF_CURRENT_IF(matching_returning_call), struct rec_sys_exit *r, const struct hit *hit)
{
	u32 nr = returning_call(hit->args);

	r->nr = nr;
	r->abi = syscall_abi(hit->current, nr);
	r->ret = hit->args[1];
}
