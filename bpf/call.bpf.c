// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls, recorded at the kernel functions that carry them out: __x64_sys_openat()
 * and the like. While a tracepoint for system calls is on, every call of every task takes
 * the kernel's slow path. These programs cost nothing for calls that are not selected.
 *
 * This is a separate object because a tracing program is loaded for one function: each
 * function has its own copies. All maps are shared with the main object.
 */
#include "syscall.h"

/* `place`: where the hit is counted. */
static __always_inline u32 sessions_of_call(u32 place, struct call call)
{
	struct task_struct *current = current_task();

	return matching_call(count_hit(place, current), current, call);
}

/* __x64_sys_NAME(regs), __ia32_sys_NAME(regs) or __ia32_compat_sys_NAME(regs) */
SEC("?fentry")
int call_entered(u64 *ctx)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	struct call call = call_of(current_task(), READ(regs, orig_ax));
	u32 sessions = sessions_of_call(CALL_ENTERED, call);
	struct rec_sys_enter r = {};

	if (!sessions)
		return 0;
	r.nr = call.nr;
	r.abi = call.abi;
	read_args(r.args, regs, r.abi);
	return EMIT(sys_enter, &r, sessions);
}

static __always_inline int record_return(const struct pt_regs *regs, u64 ret)
{
	struct call call = returned_call(current_task(), READ(regs, orig_ax), ret);
	u32 sessions = sessions_of_call(CALL_RETURNED, call);
	struct rec_sys_exit r = {};

	if (!sessions)
		return 0;
	r.nr = call.nr;
	r.abi = call.abi;
	r.ret = ret;
	return EMIT(sys_exit, &r, sessions);
}

/* The return of __x64_sys_NAME(regs) and the like: the second argument is the result. */
SEC("?fexit")
int call_returned(u64 *ctx)
{
	return record_return((const struct pt_regs *)ctx[0], ctx[1]);
}

/* A call that seccomp refuses never reaches its function. The kernel reports its end all
 * the same, with the result that seccomp has put into the registers. */
static __always_inline int record_refused(void)
{
	const struct pt_regs *regs = (const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return record_return(regs, READ(regs, ax));
}

/* int __secure_computing(), at least until 6.19: -1 refuses. Its arguments depend on the
 * kernel. */
SEC("?fexit")
int call_refused(u64 *ctx)
{
	u64 ret = 0;

	if (bpf_get_func_ret(ctx, &ret) || (s32)ret != -1)
		return 0;
	return record_refused();
}

/* bool __seccomp_permit_syscall(), in its place in 7.3 */
SEC("?fexit")
int call_not_permitted(u64 *ctx)
{
	u64 ret = 0;

	if (bpf_get_func_ret(ctx, &ret) || (u8)ret)
		return 0;
	return record_refused();
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
