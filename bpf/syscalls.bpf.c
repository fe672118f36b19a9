// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* System calls. */
#include "syscall.h"

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
