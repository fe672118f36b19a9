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
	return (struct sig_details){ READ(info, si_errno), READ(info, si_code) };
}

/* signal_generate(sig, info, task, group, result) */
EVENT(signal_generate, OF_PAIR(2), struct rec_signal_generate *r, const struct hit *hit)
{
	struct task_struct *task = (void *)hit->args[2];
	struct sig_details details = sig_details((void *)hit->args[1]);

	r->sig = hit->args[0];
	r->error = details.error;
	r->code = details.code;
	r->pid = READ(task, pid);
	r->group = hit->args[3] != 0;
	r->result = hit->args[4];
}

/* signal_deliver(sig, info, action) */
EVENT(signal_deliver, OF_CURRENT, struct rec_signal_deliver *r, const struct hit *hit)
{
	struct k_sigaction *action = (void *)hit->args[2];
	struct sig_details details = sig_details((void *)hit->args[1]);

	r->sig = hit->args[0];
	r->error = details.error;
	r->code = details.code;
	r->sa_handler = (u64)READ(action, sa.sa_handler);
	r->sa_flags = READ(action, sa.sa_flags);
}

/* mark_victim(task, uid); before 6.9 mark_victim(pid) */
EVENT(mark_victim, OF_CURRENT, struct rec_mark_victim *r, const struct hit *hit)
{
	struct task_struct *task = (void *)hit->args[0];

	if (features.victim_is_task) {
		r->pid = READ(task, pid);
		r->uid = READ(task, cred, uid.val);
	} else {
		r->pid = hit->args[0];
	}
}
