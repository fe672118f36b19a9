// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* System calls. */
#include "emit.h"

enum {
	TS_COMPAT = 0x0002,           /* thread_info.status: in a 32-bit system call */
	X32_SYSCALL_BIT = 0x40000000, /* set in the number of an x32 system call */
	ABI_NATIVE = 0,
	ABI_IA32 = 1,
	ABI_X32 = 2,
};

static __always_inline u32 syscall_abi(u32 nr)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if ((s32)nr > 0 && nr & X32_SYSCALL_BIT)
		return ABI_X32;
	return READ(task, thread_info.status) & TS_COMPAT ? ABI_IA32 : ABI_NATIVE;
}

/* A call that is not selected leaves here, having cost next to nothing. */
static __always_inline bool call_wanted(u32 id, u32 abi, u32 nr)
{
	return syscall_selected(abi, nr & ~X32_SYSCALL_BIT) ? hit_wanted(id) : count_filtered(id);
}

/* The registers that hold arguments in either ABI; they lie side by side in
 * pt_regs, so one probe read gets them where loads are not allowed. */
struct arg_regs {
	unsigned long bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
};

#define ASSIGN_ARGS(args, regs, abi)                                              \
	do {                                                                      \
		if ((abi) == ABI_IA32) {                                          \
			(args)[0] = (u32)(regs)->bx, (args)[1] = (u32)(regs)->cx; \
			(args)[2] = (u32)(regs)->dx, (args)[3] = (u32)(regs)->si; \
			(args)[4] = (u32)(regs)->di, (args)[5] = (u32)(regs)->bp; \
		} else {                                                          \
			(args)[0] = (regs)->di, (args)[1] = (regs)->si;           \
			(args)[2] = (regs)->dx, (args)[3] = (regs)->r10;          \
			(args)[4] = (regs)->r8, (args)[5] = (regs)->r9;           \
		}                                                                 \
	} while (0)

static __always_inline void read_args(hex_t args[6], struct pt_regs *regs, u32 abi)
{
	if (features.rdonly_cast) {
		struct pt_regs *r = bpf_rdonly_cast(regs, bpf_core_type_id_kernel(struct pt_regs));

		ASSIGN_ARGS(args, r, abi);
	} else {
		struct arg_regs r = {};

		bpf_probe_read_kernel(&r, sizeof(r), (void *)regs + bpf_core_field_offset(regs->bp));
		ASSIGN_ARGS(args, &r, abi);
	}
}

/* sys_enter(regs, nr) */
EVENT_PROGRAM(sys_enter)
{
	struct rec_sys_enter r;
	u32 nr = ctx[1], abi = syscall_abi(nr);

	if (!call_wanted(EVENT_sys_enter, abi, nr))
		return 0;
	r.nr = nr;
	r.abi = abi;
	read_args(r.args, (struct pt_regs *)ctx[0], abi);
	return EMIT(sys_enter, &r);
}

/* sys_exit(regs, ret); the number is still in orig_ax */
EVENT_PROGRAM(sys_exit)
{
	struct pt_regs *regs = (void *)ctx[0];
	u32 nr = READ(regs, orig_ax), abi = syscall_abi(nr);
	struct rec_sys_exit r;

	if (!call_wanted(EVENT_sys_exit, abi, nr))
		return 0;
	r.nr = nr;
	r.abi = abi;
	r.ret = ctx[1];
	return EMIT(sys_exit, &r);
}
