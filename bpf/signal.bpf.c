// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Signals, and the out-of-memory killer's choice. */
#include "emit.h"

struct sig_details {
	s32 error, code;
};

/* `info` can be a special value of sched/signal.h, which is not a valid pointer. */
static __always_inline struct sig_details sig_details(struct kernel_siginfo *info)
{
	enum { SEND_SIG_NOINFO = 0, SEND_SIG_PRIV = 1, SI_USER = 0, SI_KERNEL = 0x80 };

	if ((u64)info == SEND_SIG_NOINFO)
		return (struct sig_details){ 0, SI_USER };
	if ((u64)info == SEND_SIG_PRIV)
		return (struct sig_details){ 0, SI_KERNEL };
	return (struct sig_details){ BPF_CORE_READ(info, si_errno), BPF_CORE_READ(info, si_code) };
}

/* signal_generate(sig, info, task, group, result) */
EVENT_PROGRAM(signal_generate)
{
	struct task_struct *task = (void *)ctx[2];
	struct rec_signal_generate r = {};

	if (!pair_hit_matches(EVENT_signal_generate, ctx, 2))
		return 0;

	struct sig_details details = sig_details((void *)ctx[1]);

	r.sig = ctx[0];
	r.error = details.error;
	r.code = details.code;
	r.pid = BPF_CORE_READ(task, pid);
	r.group = ctx[3] != 0;
	r.result = ctx[4];
	return EMIT(signal_generate, &r);
}

/* signal_deliver(sig, info, action) */
EVENT_PROGRAM(signal_deliver)
{
	struct k_sigaction *action = (void *)ctx[2];
	struct rec_signal_deliver r = {};

	if (!hit_matches(EVENT_signal_deliver))
		return 0;

	struct sig_details details = sig_details((void *)ctx[1]);

	r.sig = ctx[0];
	r.error = details.error;
	r.code = details.code;
	r.sa_handler = (u64)BPF_CORE_READ(action, sa.sa_handler);
	r.sa_flags = BPF_CORE_READ(action, sa.sa_flags);
	return EMIT(signal_deliver, &r);
}

/* mark_victim(task, uid); before 6.9 mark_victim(pid) */
EVENT_PROGRAM(mark_victim)
{
	struct rec_mark_victim r = {};

	if (!hit_matches(EVENT_mark_victim))
		return 0;
	if (features.victim_is_task) {
		struct task_struct *task = (void *)ctx[0];

		r.pid = BPF_CORE_READ(task, pid);
		r.uid = BPF_CORE_READ(task, cred, uid.val);
	} else {
		r.pid = ctx[0];
	}
	return EMIT(mark_victim, &r);
}
