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
	if (nr / X32_SYSCALL_BIT == 1) /* also set in negative numbers, which are no valid call */
		return ABI_X32;
	return current->thread_info.status & TS_COMPAT ? ABI_IA32 : ABI_NATIVE;
}

/* Rejects a call that is not selected at almost no cost. */
static __always_inline bool call_matches(u32 id, u32 nr)
{
	return syscall_selected(syscall_abi(current_task(), nr), nr & ~X32_SYSCALL_BIT) ? hit_matches(id)
											: count_filtered(id);
}

static __always_inline void read_args(hex_t args[6], struct pt_regs *regs, u32 abi)
{
	if (abi == ABI_IA32) {
		args[0] = (u32)regs->bx, args[1] = (u32)regs->cx;
		args[2] = (u32)regs->dx, args[3] = (u32)regs->si;
		args[4] = (u32)regs->di, args[5] = (u32)regs->bp;
	} else {
		args[0] = regs->di, args[1] = regs->si;
		args[2] = regs->dx, args[3] = regs->r10;
		args[4] = regs->r8, args[5] = regs->r9;
	}
}

/* sys_enter(regs, nr) */
FILL(sys_enter)
{
	r->nr = ctx[1];
	r->abi = syscall_abi(current, ctx[1]);
	read_args(r->args, ARGUMENT(ctx, 0, struct pt_regs), r->abi);
}

TYPED_EVENT_PROGRAM(sys_enter)
{
	return RECORD(sys_enter, args, call_matches(EVENT_sys_enter, ctx[1]));
}

/* sys_exit(regs, ret); the number is still in orig_ax */
FILL(sys_exit)
{
	u32 nr = ARGUMENT(ctx, 0, struct pt_regs)->orig_ax;

	r->nr = nr;
	r->abi = syscall_abi(current, nr);
	r->ret = ctx[1];
}

TYPED_EVENT_PROGRAM(sys_exit)
{
	return RECORD(sys_exit, ret, call_matches(EVENT_sys_exit, ARGUMENT(ctx, 0, struct pt_regs)->orig_ax));
}
